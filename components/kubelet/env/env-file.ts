/** The value of a key in a file of `KEY=value` lines; what follows a `#` is a comment. Undefined for a key without a value. Source: pkg/kubelet/util/env. */
export function valueInEnvFile(text: string, key: string): string | undefined {
  for (const line of text.split("\n")) {
    const spec = line.replace(/\r$/, "").split("#", 1)[0]!
    const at = spec.indexOf("=")
    if (at >= 0 && spec.slice(0, at) === key) return spec.slice(at + 1) || undefined
  }
  return undefined
}
