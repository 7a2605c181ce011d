/**
 * The parameters of a query, decoded at their first use: most requests have none, or one that is read. A pair that
 * cannot be decoded is skipped, as upstream. Source: net/url URL.Query.
 */
export class Query {
  readonly raw: string
  private params: Map<string, string[]> | undefined
  constructor(raw: string) {
    this.raw = raw
  }

  /** Returns the first value of a parameter. */
  get(name: string): string | undefined {
    return this.raw === "" ? undefined : this.all(name)[0]
  }

  all(name: string): readonly string[] {
    if (this.raw === "") return []
    this.params ??= parse(this.raw)
    return this.params.get(name) ?? []
  }
}

function parse(raw: string): Map<string, string[]> {
  const params = new Map<string, string[]>()
  for (const pair of raw.split("&")) {
    if (pair === "") continue
    const equals = pair.indexOf("=")
    const name = unescape(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? "" : unescape(pair.slice(equals + 1))
    if (name === undefined || value === undefined) continue
    const known = params.get(name)
    if (known === undefined) params.set(name, [value])
    else known.push(value)
  }
  return params
}

function unescape(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text
  if (!spaced.includes("%")) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return undefined
  }
}
