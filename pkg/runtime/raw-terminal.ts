import { dlopen, FFIType } from "bun:ffi"

/** More than a struct termios takes on any platform of ours. Source: bits/termios-struct.h. */
const TERMIOS_BYTES = 128
const TCSANOW = 0

/**
 * Turns off all that a terminal does itself, output included. The runtime's raw mode leaves it to write a line feed as
 * a carriage return and a line feed, with which editors and other programs of a whole screen are drawn wrongly. A
 * terminal that cannot be changed stays as it is.
 */
export function makeRaw(fd: number): void {
  const libc = dlopen("libc.so.6", {
    tcgetattr: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
    tcsetattr: { args: [FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
    cfmakeraw: { args: [FFIType.ptr], returns: FFIType.void },
  })
  try {
    const termios = Buffer.alloc(TERMIOS_BYTES)
    if (libc.symbols.tcgetattr(fd, termios) !== 0) return
    libc.symbols.cfmakeraw(termios)
    libc.symbols.tcsetattr(fd, TCSANOW, termios)
  } finally {
    libc.close()
  }
}
