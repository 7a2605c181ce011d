/** Splits paths of fields. Source: kyaml utils/pathsplitter.go. */

/** Splits a path. A delimiter after a backslash is part of a name. A delimiter at the start is dropped. */
export function splitPath(path: string, delimiter: string): string[] {
  const parts = path.split(delimiter)
  if (parts.length > 1 && parts[0] === "") parts.shift()
  const names = [parts[0]!]
  for (const part of parts.slice(1)) {
    const last = names.at(-1)!
    if (last.endsWith("\\")) names[names.length - 1] = last.slice(0, -1) + delimiter + part
    else names.push(part)
  }
  return names
}

/** Splits a path whose parts may be in brackets: `a.[b.c].[name=x.y]`. */
export function splitBracketedPath(path: string, delimiter: string): string[] {
  const parts = splitPath(path, delimiter)
  const names: string[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (!part.startsWith("[") || part.endsWith("]")) {
      names.push(part)
      continue
    }
    const bracketed = [part]
    while (i < parts.length - 1) {
      const next = parts[++i]!
      bracketed.push(next)
      if (next.endsWith("]")) break
    }
    const whole = bracketed.join(delimiter)
    names.push(whole.includes("=") ? whole : whole.replace(/^[[\]]+|[[\]]+$/g, ""))
  }
  return names
}
