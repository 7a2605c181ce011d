import { trimRight } from "../apimachinery/go/go-text.ts"

/** Decimal digits of a number without leading zeros, and how many of them stand before the point. */
interface Decimal {
  readonly digits: string
  readonly point: number
}

/** The forms in which Go writes floats. Source: strconv.FormatFloat. */
export type FloatForm = "e" | "E" | "f" | "g" | "G" | "b" | "x" | "X"

/** Returns a float as strconv.FormatFloat writes it; precision -1 is the shortest text that is read back the same. */
export function formatFloat(value: number, form: FloatForm, precision: number): string {
  if (Number.isNaN(value)) return "NaN"
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf"
  const sign = value < 0 || Object.is(value, -0) ? "-" : ""
  const size = Math.abs(value)
  if (form === "b") return sign + binary(size)
  if (form === "x" || form === "X") {
    const text = sign + hexadecimal(size, precision)
    return form === "X" ? text.toUpperCase() : text
  }
  return sign + decimal(size, form, precision)
}

function decimal(size: number, form: "e" | "E" | "f" | "g" | "G", precision: number): string {
  const isShortest = precision < 0
  const exact = isShortest ? shortest(size) : exactDecimal(size)
  if (form === "f") {
    const { digits, point } = isShortest ? exact : rounded(exact, exact.point + precision)
    const after = isShortest ? Math.max(digits.length - point, 0) : precision
    return fixed({ digits, point }, after)
  }
  if (form === "e" || form === "E") {
    const cut = isShortest ? exact : rounded(exact, precision + 1)
    return scientific(cut, isShortest ? Math.max(cut.digits.length - 1, 0) : precision, form)
  }
  const wanted = precision === 0 ? 1 : precision
  const cut = isShortest ? exact : rounded(exact, wanted)
  const { digits, point } = cut
  let limit = wanted
  if (isShortest || (limit > digits.length && digits.length >= point)) limit = isShortest ? 6 : digits.length
  const exponent = point - 1
  if (exponent < -4 || exponent >= limit)
    return scientific(
      cut,
      Math.max(Math.min(isShortest ? digits.length : wanted, digits.length) - 1, 0),
      form === "g" ? "e" : "E",
    )
  return fixed(cut, Math.max(digits.length - point, 0))
}

/** Returns digits with so many after the point. */
function fixed({ digits, point }: Decimal, after: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, "0") : "0"
  if (after === 0) return whole
  const fraction = point > 0 ? digits.slice(point) : "0".repeat(-point) + digits
  return `${whole}.${fraction.slice(0, after).padEnd(after, "0")}`
}

/** Returns digits as `d.ddde±dd`. */
function scientific({ digits, point }: Decimal, after: number, letter: "e" | "E"): string {
  const exponent = digits === "" ? 0 : point - 1
  const fraction = after > 0 ? `.${digits.slice(1, after + 1).padEnd(after, "0")}` : ""
  return `${digits[0] ?? "0"}${fraction}${letter}${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}

/** Returns the fewest digits that are read back as the same number, which JavaScript and Go choose alike. */
function shortest(size: number): Decimal {
  if (size === 0) return { digits: "", point: 0 }
  const [mantissa = "", exponent = "0"] = size.toExponential().split("e")
  return { digits: mantissa.replace(".", ""), point: Number(exponent) + 1 }
}

/** Returns mantissa and exponent: size = mantissa × 2^exponent. */
function parts(size: number): { readonly mantissa: bigint; readonly exponent: number } {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, size)
  const bits = view.getBigUint64(0)
  const biased = Number(bits >> 52n)
  const fraction = bits & 0xfffffffffffffn
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction | (1n << 52n), exponent: biased - 1075 }
}

/** Returns all digits of a number. */
function exactDecimal(size: number): Decimal {
  const { mantissa, exponent } = parts(size)
  if (mantissa === 0n) return { digits: "", point: 0 }
  const text = exponent >= 0 ? String(mantissa << BigInt(exponent)) : String(mantissa * 5n ** BigInt(-exponent))
  const point = exponent >= 0 ? text.length : text.length + exponent
  return { digits: trimRight(text, "0"), point }
}

/** Rounds to so many digits, a half to the even digit. */
function rounded({ digits, point }: Decimal, count: number): Decimal {
  if (count < 0) return { digits: "", point: 0 }
  if (count >= digits.length) return { digits, point }
  const rest = digits.slice(count)
  const isHalf = rest[0] === "5" && /^50*$/.test(rest)
  const isUp = isHalf ? count > 0 && Number(digits[count - 1]) % 2 === 1 : rest[0]! >= "5"
  const kept = digits.slice(0, count)
  if (!isUp) return trimmed(kept, point)
  const next = String(BigInt(kept === "" ? "0" : kept) + 1n)
  return next.length > count ? trimmed(next, point + 1) : trimmed(next, point)
}

function trimmed(digits: string, point: number): Decimal {
  const kept = trimRight(digits, "0")
  return kept === "" ? { digits: "", point: 0 } : { digits: kept, point }
}

function binary(size: number): string {
  const { mantissa, exponent } = parts(size)
  return `${mantissa}p${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`
}

function hexadecimal(size: number, precision: number): string {
  let { mantissa, exponent } = parts(size)
  if (mantissa === 0n) exponent = 0
  else {
    // One digit before the point, and 15 after it.
    while (mantissa < 1n << 60n) {
      mantissa <<= 1n
      exponent--
    }
    if (precision >= 0 && precision < 15) {
      const shift = BigInt(60 - precision * 4)
      const [unit, rest] = [mantissa >> shift, mantissa & ((1n << shift) - 1n)]
      const half = 1n << (shift - 1n)
      mantissa = (unit + (rest > half || (rest === half && unit % 2n === 1n) ? 1n : 0n)) << shift
      if (mantissa >= 1n << 61n) {
        mantissa >>= 1n
        exponent++
      }
    }
    exponent += 60
  }
  const digits = mantissa.toString(16).padStart(16, "0")
  const fraction =
    precision < 0 ? trimRight(digits.slice(1), "0") : digits.slice(1).padEnd(precision, "0").slice(0, precision)
  const power = `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
  return `0x${digits[0]}${fraction === "" ? "" : `.${fraction}`}p${power}`
}
