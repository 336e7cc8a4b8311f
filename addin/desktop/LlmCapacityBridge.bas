Attribute VB_Name = "LlmCapacityBridge"
Option Explicit
Option Private Module
' Between cells and Python: every function of LlmCapacityFunctions is one line that uses CallPython.
' Nothing here starts a program, or opens a file or a connection: XLPy, in the module xlwings, starts Python and hands
' over its object.

Private server As Object     ' xlwings' object in Python, kept, for to get it anew means to read all settings
Private failure As String    ' why it could not be had: told once, and not tried again

Public Function CallPython(ByVal functionName As String, ByVal arguments As Variant) As Variant
    On Error GoTo failed
    CallPython = CellValues(Answer(functionName, ArgumentValues(arguments)))
    Exit Function
failed:
    CallPython = CVErr(xlErrValue)
End Function

Public Sub StartPython()
    ' When the workbook opens, so that no cell has to wait for Python later.
    On Error Resume Next    ' Connect has told why
    Connect
End Sub

Private Function Answer(ByVal functionName As String, ByVal values As Variant) As Variant
    Dim mayRetry As Boolean
    mayRetry = Not server Is Nothing
    On Error GoTo lost
again:
    Connect
    Answer = server.CallUDF("addin.udfs", functionName, values)
    Exit Function
lost:
    Set server = Nothing    ' Python may have been ended: it is started anew, once
    If Not mayRetry Then Err.Raise Err.Number, , Err.Description
    mayRetry = False
    Resume again
End Function

Private Sub Connect()
    If Not server Is Nothing Then Exit Sub
    If failure <> "" Then Err.Raise vbObjectError, , failure
    On Error GoTo failed
    Set server = XLPy
    server.CallUDF "addin.udfs", "CAPACITY_VERSION", Array(0)    ' loads the functions, or says what is missing
    Exit Sub
failed:
    Set server = Nothing
    failure = Err.Description
    If failure = "" Then failure = "Error " & Err.Number
    If Application.DisplayAlerts Then MsgBox FailureMessage, vbExclamation, "LLM capacity"
    Err.Raise vbObjectError, , failure
End Sub

Private Function FailureMessage() As String
    FailureMessage = "Python could not be started, so cells that need it show #VALUE!. The plan goes on in " & _
        "plain cell arithmetic while the engine on the sheet Inputs is Auto." & vbCrLf & vbCrLf & _
        "The sheet xlwings.conf names the Python; in it, llm-capacity must be installed. " & _
        "Correct that, and reopen the workbook." & vbCrLf & vbCrLf & Left$(failure, 500)
End Function

Private Function ArgumentValues(ByVal arguments As Variant) As Variant
    ' References as their values: Python need not ask Excel, which is busy calculating.
    Dim values() As Variant, i As Long
    ReDim values(LBound(arguments) To UBound(arguments))
    For i = LBound(arguments) To UBound(arguments)
        If IsObject(arguments(i)) Then values(i) = arguments(i).Value Else values(i) = arguments(i)
    Next i
    ArgumentValues = values
End Function

Public Function CellValues(ByVal result As Variant) As Variant
    ' What Python answers, with error values in place of their texts: one value, a row, or rows.
    Dim i As Long, j As Long
    If Not IsArray(result) Then
        CellValues = CellValue(result)
        Exit Function
    End If
    If IsTable(result) Then
        For i = LBound(result, 1) To UBound(result, 1)
            For j = LBound(result, 2) To UBound(result, 2)
                result(i, j) = CellValue(result(i, j))
            Next j
        Next i
    Else
        For i = LBound(result) To UBound(result)
            result(i) = CellValue(result(i))
        Next i
    End If
    CellValues = result
End Function

Private Function IsTable(ByRef result As Variant) As Boolean
    ' xlwings hands over a single row with one dimension.
    On Error GoTo oneDimension
    IsTable = UBound(result, 2) >= LBound(result, 2)
oneDimension:
End Function

Private Function CellValue(ByVal value As Variant) As Variant
    ' Python cannot send an error value, so it sends its text.
    CellValue = value
    If VarType(value) <> vbString Then Exit Function
    Select Case value
        Case "#NULL!": CellValue = CVErr(xlErrNull)
        Case "#DIV/0!": CellValue = CVErr(xlErrDiv0)
        Case "#VALUE!": CellValue = CVErr(xlErrValue)
        Case "#REF!": CellValue = CVErr(xlErrRef)
        Case "#NAME?": CellValue = CVErr(xlErrName)
        Case "#NUM!": CellValue = CVErr(xlErrNum)
        Case "#N/A": CellValue = CVErr(xlErrNA)
    End Select
End Function
