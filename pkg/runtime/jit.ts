/**
 * Lets the engine compile code as soon as it usually does. Until then the executable only compiles what runs very often
 * (`--compile-jit-policy` in hack/compile.sh): most code of a start runs a few times, and compiling it takes a third of
 * the processor time of the start. Does nothing under engines that are not Bun's.
 */
export function compileAsUsual(): void {
  if (typeof Bun !== "undefined") Bun.unsafe.setJITPolicy(1)
}
