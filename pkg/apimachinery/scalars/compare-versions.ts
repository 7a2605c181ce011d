const VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/
const STAGES = ["alpha", "beta", undefined]

/**
 * Orders versions by preference: v2, v1, v1beta2, v1alpha1, and then others by name. Source: apimachinery
 * pkg/version/helpers.go.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [VERSION.exec(a), VERSION.exec(b)]
  if (left === null && right === null) return a < b ? -1 : a > b ? 1 : 0
  if (left === null || right === null) return left === null ? 1 : -1
  return (
    STAGES.indexOf(right[2]) - STAGES.indexOf(left[2]) ||
    Number(right[1]) - Number(left[1]) ||
    Number(right[3] ?? 0) - Number(left[3] ?? 0)
  )
}
