"""What a UNO add-in in Python takes at least: one function that gives back the rows that it gets, or the one value."""

import unohelper
from com.sun.star.lang import XServiceInfo
from org.identity import Functions

SERVICE = "org.identity.AddIn"
IMPLEMENTATION = "org.identity.AddIn.python"


class AddIn(unohelper.Base, XServiceInfo, Functions):
    def __init__(self, context):
        pass

    def IDENTITY(self, x):  # noqa: N802  # this and the following names are UNO's
        return x if type(x) is tuple else ((x,),)

    def getImplementationName(self):  # noqa: N802  # the name is UNO's
        return IMPLEMENTATION

    def supportsService(self, name):  # noqa: N802  # the name is UNO's
        return name == SERVICE

    def getSupportedServiceNames(self):  # noqa: N802  # the name is UNO's
        return (SERVICE,)


g_ImplementationHelper = unohelper.ImplementationHelper()  # noqa: N816  # the name under which LibreOffice looks for it
g_ImplementationHelper.addImplementation(AddIn, IMPLEMENTATION, (SERVICE,))
