/* python.exe: starts the interpreter in python311.dll, which is all that the wheel has of it. */
#include <windows.h>

typedef int (*Main)(int, wchar_t **);

int wmain(int argc, wchar_t **argv)
{
    HMODULE python = LoadLibraryW(L"python311.dll");
    Main run = python ? (Main)(void *)GetProcAddress(python, "Py_Main") : NULL;
    return run ? run(argc, argv) : 99;
}
