import { Buffer } from "node:buffer"
import { bytesIn, type EnvironmentValue } from "../model/environment-variable.ts"

/**
 * Replaces `$(NAME)` by the result of `valueOf`. Unknown names stay as they are; `$$` is one `$`, so `$$(NAME)` is
 * never replaced. Source: third_party/forked/golang/expansion.
 *
 * Differs from upstream: the result has at most `mostBytes` bytes, because a text of a few bytes can name long values
 * again and again. Nothing longer is allocated.
 * @throws ExpansionError
 */
export function expand(
  text: string,
  valueOf: (name: string) => EnvironmentValue | undefined,
  mostBytes: number,
): EnvironmentValue {
  const parts = new Parts(mostBytes)
  // A `$(` behind the last `)` is no reference. The last `)` is searched for once, so that long texts stay cheap.
  const last = text.lastIndexOf(")")
  let at = 0
  for (let operator = text.indexOf("$"); operator !== -1; operator = text.indexOf("$", at)) {
    parts.add(text.slice(at, operator))
    const isReference = text[operator + 1] === "(" && operator < last
    const end = isReference ? text.indexOf(")", operator) + 1 : operator + (text[operator + 1] === "$" ? 2 : 1)
    // A `$` that is neither doubled nor followed by closed parentheses stays.
    const written = text.slice(operator, end)
    parts.add(isReference ? (valueOf(written.slice(2, -1)) ?? written) : "$")
    at = end
  }
  parts.add(text.slice(at))
  return parts.joined()
}

/** A text is too long after its references are replaced. */
export class ExpansionError extends Error {
  override readonly name = "ExpansionError"
  constructor(readonly mostBytes: number) {
    super(`is longer than ${mostBytes} bytes when its references to variables are replaced`)
  }
}

class Parts {
  readonly #mostBytes: number
  #text = ""
  /** What was added, once a part was no text. */
  #bytes: Uint8Array[] | undefined
  #length = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  add(part: EnvironmentValue): void {
    this.#length += bytesIn(part)
    if (this.#length > this.#mostBytes) throw new ExpansionError(this.#mostBytes)
    if (typeof part === "string" && this.#bytes === undefined) this.#text += part
    else {
      this.#bytes ??= [Buffer.from(this.#text)]
      this.#bytes.push(typeof part === "string" ? Buffer.from(part) : part)
    }
  }

  joined(): EnvironmentValue {
    return this.#bytes === undefined ? this.#text : Buffer.concat(this.#bytes)
  }
}
