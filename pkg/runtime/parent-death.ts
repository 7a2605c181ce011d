import process from "node:process"
import type * as Ffi from "bun:ffi"

/** The C functions that Bun calls. Undefined under other runtimes. */
const ffi = process.getBuiltinModule("bun:ffi") as typeof Ffi | undefined

/** Source: linux/prctl.h; asm-generic/signal.h. */
const PR_SET_PDEATHSIG = 1
const SIGKILL = 9

/** Has the kernel end this process when the one that started it ends, even where this one is in an endless loop. */
export function endWithParent(): void {
  if (ffi === undefined || process.platform !== "linux") return
  const { FFIType, dlopen } = ffi
  const { prctl } = dlopen("libc.so.6", {
    prctl: { args: [FFIType.i32, FFIType.u64], returns: FFIType.i32 },
  }).symbols
  prctl(PR_SET_PDEATHSIG, SIGKILL)
}
