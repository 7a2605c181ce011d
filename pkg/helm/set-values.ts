import { ownValue, setKey } from "../apimachinery/json/set-key.ts"
import { int64, type Dict } from "./functions/convert.ts"

/** The largest place in a list that `--set` may name. Source: helm.sh/helm/v3/pkg/strvals MaxIndex. */
const MOST_ITEMS = 65_536

/**
 * Sets the value at a path as `--set PATH=TEXT` does: `a.b[0].c`, in which a backslash takes the meaning from the next
 * character. Source of the rules: helm.sh/helm/v3/pkg/strvals. @throws Error
 */
export function setValue(values: Dict, path: string, value: unknown): void {
  const steps = stepsOf(path)
  let at: unknown = values
  for (const [i, step] of steps.entries()) {
    const isLast = i === steps.length - 1
    const next = typeof steps[i + 1] === "number" ? [] : {}
    if (typeof step === "number") {
      const list = at as unknown[]
      while (list.length <= step) list.push(null)
      if (isLast) list[step] = value
      else at = list[step] = isContainer(list[step], next) ? list[step] : next
    } else {
      const map = at as Dict
      const own = ownValue(map, step)
      const inner = isLast ? value : isContainer(own, next) ? own : next
      setKey(map, step, inner)
      at = inner
    }
  }
}

const isContainer = (value: unknown, like: unknown): boolean =>
  typeof value === "object" && value !== null && Array.isArray(value) === Array.isArray(like)

function stepsOf(path: string): readonly (string | number)[] {
  const steps: (string | number)[] = []
  let name = ""
  for (let i = 0; i <= path.length; i++) {
    const sign = path[i]
    if (sign === "\\" && i + 1 < path.length) name += path[++i]!
    else if (sign === undefined || sign === "." || sign === "[") {
      if (name !== "" || steps.length === 0) steps.push(name)
      name = ""
      if (sign !== "[") continue
      const end = path.indexOf("]", i)
      const place = path.slice(i + 1, end < 0 ? undefined : end)
      if (end < 0 || !/^\d+$/.test(place)) throw new Error(`error parsing index: ${JSON.stringify(path)}`)
      if (Number(place) > MOST_ITEMS)
        throw new Error(`index of ${place} is greater than maximum supported index of ${MOST_ITEMS}`)
      steps.push(Number(place))
      i = end
    } else name += sign
  }
  return steps
}

/** Returns what `--set` takes a text for: a boolean, null, a whole number, or a text. */
export function typedValue(text: string): unknown {
  if (text === "true" || text === "false") return text === "true"
  if (text === "null") return null
  return text === "0" || /^-?[1-9]\d{0,17}$/.test(text) ? int64(BigInt(text)) : text
}
