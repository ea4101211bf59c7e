"""
A reader with small buffers that takes so many kB per second of one response.
Prints bytes of the body and seconds.
"""
import socket
import sys
import time

port, path, rate = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
reader = socket.socket()
reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
reader.connect(("127.0.0.1", port))
reader.settimeout(100)
reader.sendall(f"GET {path} HTTP/1.1\r\nHost: api\r\nConnection: close\r\n\r\n".encode())
start = time.monotonic()
received = b""
try:
    while part := reader.recv(rate * 100):
        received += part
        time.sleep(max(0, len(received) / (rate * 1000) - (time.monotonic() - start)))
except OSError:
    pass
print(len(received.partition(b"\r\n\r\n")[2]), time.monotonic() - start)
