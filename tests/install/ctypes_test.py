"""attend/c.h through a foreign-function interface: ctypes_test.py LIBRARY MODELS."""
import ctypes
import sys
import threading

library, models = ctypes.CDLL(sys.argv[1]), sys.argv[2]
library.attend_message.restype = ctypes.c_char_p
library.attend_version.restype = ctypes.c_char_p
library.attend_results_text.restype = ctypes.c_char_p
library.attend_results_text.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
library.attend_translate.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t,
                                     ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]


def opened(name):
    model = ctypes.c_void_p()
    status = library.attend_open(f"{models}/{name}".encode(), None, ctypes.byref(model))
    assert status == 0, library.attend_message()
    return model


def translated(model, text):
    lines, results = (ctypes.c_char_p * 1)(text.encode()), ctypes.c_void_p()
    assert library.attend_translate(model, lines, 1, None, ctypes.byref(results)) == 0, library.attend_message()
    answer = library.attend_results_text(results, 0, 0).decode()
    library.attend_results_free(ctypes.byref(results))
    return answer


model = opened("en-fr")
alone = translated(model, "I am a student.")
assert alone, "a translation"
# Two threads on one handle take turns.
answers = []
threads = [threading.Thread(target=lambda: answers.append(translated(model, "I am a student."))) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert answers == [alone] * 4, answers
library.attend_close(ctypes.byref(model))
assert not model.value
assert library.attend_open(b"nowhere", None, ctypes.byref(model)) == 1
assert b"nowhere" in library.attend_message()
print("ctypes\t" + alone)
