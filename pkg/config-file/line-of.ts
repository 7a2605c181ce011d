import type * as yaml from "yaml"

/** Loads `yaml` where a file has a fault, since that takes some 20 ms. */
const loadYaml = (): typeof yaml => require("yaml") // oxlint-disable-line typescript/no-require-imports

/**
 * Returns the line, counted from 1, of a field in a text of YAML, or of the nearest field around it that is there.
 * @param field a path as in field errors: `jwt[0].issuer.url`, `labels[app.kubernetes.io/name]`
 */
export function lineOf(text: string, field: string): number | undefined {
  const { isMap, isScalar, isSeq, LineCounter, parseDocument } = loadYaml()
  const lines = new LineCounter()
  const { contents } = parseDocument(text, { lineCounter: lines, uniqueKeys: false })
  let node: unknown = contents
  let offset = contents?.range[0]
  for (const step of stepsOf(field)) {
    if (isSeq(node)) {
      const item = node.items[Number(step)]
      if (item === undefined) break
      node = item
      offset = (item as yaml.Node).range?.[0] ?? offset
    } else if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (pair === undefined) break
      node = pair.value
      offset = (pair.key as yaml.Scalar).range?.[0] ?? offset
    } else break
  }
  return offset === undefined ? undefined : lines.linePos(offset).line
}

/** Splits `a[0].b[x.y]` into `a`, `0`, `b`, `x.y`. */
const stepsOf = (field: string): readonly string[] =>
  [...field.matchAll(/\[([^[\]]*)\]|([^.[\]]+)/g)].map(([, key, name]) => key ?? name!)
