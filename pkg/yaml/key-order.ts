const LETTER = /^\p{L}$/u
const SURROGATE = /[\ud800-\udfff]/
/** The characters of a name: a text that has no pairs of surrogates is a list of them. */
type Signs = string | readonly string[]
const DIGIT = /^\p{Nd}$/u

/**
 * Compares keys in YAML's order: numbers inside names by their value (`a2` before `a10`), letters after all other
 * characters. Source of the behaviour: go.yaml.in/yaml/v2 sorter.go.
 */
export function byNaturalOrder(a: string, b: string): number {
  if (a === b) return 0
  const first = firstDifference(a, b)
  if (first !== undefined) return first
  const isPlain = !SURROGATE.test(a) && !SURROGATE.test(b)
  const [left, right] = isPlain ? [a, b] : [Array.from(a), Array.from(b)]
  const length = Math.min(left.length, right.length)
  let at = 0
  while (at < length && left[at] === right[at]) at++
  if (at === length) return left.length - right.length
  const [x, y] = [left[at]!, right[at]!]
  const [isX, isY] = [LETTER.test(x), LETTER.test(y)]
  if (isX && isY) return byCode(x, y)
  if (isX || isY) return isY ? -1 : 1
  // A zero is part of a number only after another digit: `10` comes after `2`, but `00` before `1`.
  const led = (x === "0" || y === "0") && isInNumber(left, at) ? "1" : ""
  const [m, n] = [led + digitsFrom(left, at), led + digitsFrom(right, at)]
  const [numberX, numberY] = [wrapped(m), wrapped(n)]
  if (numberX !== numberY) return numberX < numberY ? -1 : 1
  return m.length - n.length || byCode(x, y)
}

/**
 * Compares names whose first difference is between two small Latin letters, as most keys of objects are; undefined for
 * others.
 */
function firstDifference(a: string, b: string): number | undefined {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    return x >= 97 && x <= 122 && y >= 97 && y <= 122 ? x - y : undefined
  }
  return undefined
}

const byCode = (x: string, y: string): number => x.codePointAt(0)! - y.codePointAt(0)!

/** Returns whether a digit other than 0 comes before `at` with only digits between them. */
function isInNumber(signs: Signs, at: number): boolean {
  for (let i = at - 1; i >= 0 && DIGIT.test(signs[i]!); i--) if (signs[i] !== "0") return true
  return false
}

/** So many digits are read at once: the work for a number grows with its digits, and not with their square. */
const DIGITS_AT_ONCE = 15

/** Returns the number of 64 bits that Go makes of digits, which wraps around beyond these. */
function wrapped(digits: string): bigint {
  let number = 0n
  for (let i = 0; i < digits.length; i += DIGITS_AT_ONCE) {
    const part = digits.slice(i, i + DIGITS_AT_ONCE)
    number = BigInt.asIntN(64, number * BigInt(10 ** part.length) + BigInt(part))
  }
  return number
}

/** Returns the digits that begin at `at`. */
function digitsFrom(signs: Signs, at: number): string {
  let digits = ""
  for (let i = at; i < signs.length && /^[0-9]$/.test(signs[i]!); i++) digits += signs[i]!
  return digits
}
