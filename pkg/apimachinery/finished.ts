/** Takes all steps of long work at once, and returns their result. `inSteps` (pkg/clock) lets others run in between. */
export function finished<T>(steps: Iterator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
