import type { Issues } from "./issue.ts"
import type { Token } from "./lexer.ts"

/** The deepest nesting of an expression. Source: cel-go parser/options.go. */
const DEEPEST = 250
/** Ends parsing after a fault that has been reported. */
export class Stop extends Error {}

/** Reads the tokens of an expression one by one, and reports syntax errors with the messages of ANTLR's parser. */
export class TokenReader {
  protected readonly tokens: readonly Token[]
  /** Index of the next token. */
  protected at = 0
  readonly #issues: Issues
  /** Whether tokens were skipped since the last one that matched; further faults are not reported then. */
  protected recovering = false
  /** Index of the token at which parsing resumed after the last fault. */
  #resumed = -1

  constructor(tokens: readonly Token[], issues: Issues) {
    this.tokens = tokens
    this.#issues = issues
  }

  /** The token that is read next. */
  protected get token(): Token {
    return this.tokens[this.at]!
  }

  /** Whether the next token is this punctuation. */
  protected is(text: string): boolean {
    const token = this.token
    return token.kind === "punctuation" && token.text === text
  }

  /** Reads this punctuation if it is next. */
  protected take(text: string): Token | undefined {
    if (!this.is(text)) return undefined
    this.recovering = false
    return this.tokens[this.at++]
  }

  /** Reads punctuation that must be next. One superfluous token before it is reported and skipped. */
  protected expect(text: string, expecting = `'${text}'`): Token {
    const token = this.take(text)
    if (token !== undefined) return token
    const next = this.tokens[this.at + 1]
    const shown = this.token.text
    if (next?.kind === "punctuation" && next.text === text) {
      this.report(this.token.offset, `Syntax error: extraneous input '${shown}' expecting ${expecting}`)
      this.at += 2
      return next
    }
    const mayMiss = this.token.kind === "EOF" || /^[)\]}]$/.test(shown)
    return this.syntax(
      mayMiss && /^[)\]}]$/.test(text)
        ? `missing '${text}' at '${shown}'`
        : `mismatched input '${shown}' expecting ${expecting}`,
    )
  }

  /** Reads the bracket that ends a list or a map, where a comma would be allowed too. */
  protected close(text: string): void {
    if (this.take(text) !== undefined) return
    const next = this.tokens[this.at + 1]
    const isExtra = next?.kind === "punctuation" && (next.text === text || next.text === ",")
    this.syntax(`${isExtra ? "extraneous" : "mismatched"} input '${this.token.text}' expecting {'${text}', ','}`)
  }

  /** Reports a syntax error and ends parsing. */
  protected syntax(message: string): never {
    this.syntaxFault(message)
    throw new Stop()
  }

  /** Reports a syntax error, unless tokens have been skipped since the last one. */
  protected syntaxFault(message: string): void {
    if (!this.recovering) this.report(this.token.offset, `Syntax error: ${message}`)
  }

  protected report(offset: number | undefined, message: string): void {
    this.#issues.report(offset, message)
  }

  /** Reports an expression that is nested too deep. */
  protected deeper(levels: number): void {
    if (levels <= DEEPEST) return
    this.report(undefined, `expression recursion limit exceeded: ${DEEPEST}`)
    throw new Stop()
  }

  /** Skips to the next token that can follow an expression. @throws Stop when it skipped to this token before */
  protected resume(): void {
    if (this.#resumed === this.at) throw new Stop()
    while (this.token.kind !== "EOF" && !followsExpression(this.token)) this.at++
    this.#resumed = this.at
    this.recovering = true
  }
}

const followsExpression = ({ kind, text }: Token): boolean =>
  kind === "punctuation" && !/^[[{(.!]$|^true$|^false$|^null$/.test(text)
