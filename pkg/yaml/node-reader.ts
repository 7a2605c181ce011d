import { plainValue, taggedValue } from "./resolve.ts"
import { plainScalar, quotedScalar } from "./scalars.ts"
import { anchorName, tagAt } from "./tags.ts"
import { Cursor, structureError, YamlError, type Mark } from "./cursor.ts"
import {
  AMPERSAND,
  APOSTROPHE,
  ASTERISK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DASH,
  EXCLAMATION_MARK,
  isBlankBreakOrEnd,
  isEnd,
  isNeverFirst,
  OPEN_BRACE,
  OPEN_BRACKET,
  PERCENT,
  QUESTION_MARK,
  QUOTE,
} from "./signs.ts"
import { Aliases } from "./aliases.ts"
import { MapBuilder } from "./map-builder.ts"

/** The deepest nesting. Go's YAML and JSON decoders refuse more. */
export const MOST_LEVELS = 10_000
/** The longest key without `?`, in characters. Source: YAML 1.2, 7.4.2. */
export const LONGEST_KEY = 1024

/** A value, with what the parser needs to know of its notation. */
export interface Node {
  readonly value: unknown
  /** The line where the node begins. */
  readonly line: number
  /** Whether this is a scalar without quotes and tag whose text is `<<`: such a key merges its value into the map. */
  readonly merges: boolean
  /** The text of a scalar without a tag. */
  readonly text?: PlainOrQuoted
}

interface PlainOrQuoted {
  readonly text: string
  readonly style: ScalarStyle
}

/** How a scalar is written. */
export type ScalarStyle = "plain" | "single" | "double" | "literal" | "folded"

/** What the pairs of a map are added to. */
export interface MapSink {
  readonly object: unknown
  set(key: Node, value: Node): void
}

export interface Properties {
  readonly anchor: string | undefined
  readonly tag: string | undefined
}
export const NO_PROPERTIES: Properties = { anchor: undefined, tag: undefined }

/**
 * Reads single nodes: scalars, aliases, and collections in brackets, which may be in block and flow context. Each
 * method begins at the first character of its construct and ends after the last; the caller skips to the next token.
 */
export class NodeReader {
  protected readonly cursor: Cursor
  protected handles: ReadonlyMap<string, string> = new Map()
  readonly #aliases = new Aliases()
  #levels = 0
  /** Messages about keys that occur twice: `line 4: key "a" already set in map`. */
  readonly duplicates: string[] = []

  constructor(text: string) {
    this.cursor = new Cursor(text)
  }

  get mark(): Mark {
    return this.cursor.mark
  }

  /** Returns whether an anchor or a tag begins here. */
  protected isProperty(): boolean {
    const code = this.cursor.code()
    return code === AMPERSAND || code === EXCLAMATION_MARK
  }

  /** Returns whether the node that was read from `start` is a key. */
  protected isKey(start: { readonly at: number; readonly line: number }, allowed: boolean): boolean {
    const cursor = this.cursor
    if (cursor.flow === 0 && cursor.keyAllowed) return false
    const end = cursor.at
    cursor.skipBlanks()
    if (!this.isSign(COLON)) {
      cursor.at = end
      return false
    }
    if (allowed && cursor.line === start.line && cursor.at - start.at <= LONGEST_KEY) return true
    if (cursor.flow > 0) return false
    throw cursor.error("mapping values are not allowed in this context")
  }

  /** Returns whether a scalar, an alias or a collection in brackets begins here. */
  protected isInline(): boolean {
    const code = this.cursor.code()
    return this.isScalar() || code === OPEN_BRACE || code === OPEN_BRACKET || code === ASTERISK
  }

  protected isScalar(): boolean {
    const code = this.cursor.code()
    return code === QUOTE || code === APOSTROPHE || this.#isPlain()
  }

  #isPlain(): boolean {
    const cursor = this.cursor
    const code = cursor.code()
    if (isNeverFirst(code)) return false
    if (code === DASH) return !isBlankBreakOrEnd(cursor.code(1))
    return (code !== QUESTION_MARK && code !== COLON) || (cursor.flow === 0 && !isBlankBreakOrEnd(cursor.code(1)))
  }

  /** Returns whether `-`, `?` or `:` is an indicator here, and not the first character of a scalar. */
  protected isSign(sign: number): boolean {
    const cursor = this.cursor
    if (cursor.code() !== sign) return false
    return isBlankBreakOrEnd(cursor.code(1)) || (sign !== DASH && cursor.flow > 0)
  }

  /** Returns whether any construct begins with this character. */
  protected canBegin(): boolean {
    const cursor = this.cursor
    if (cursor.code() === PERCENT) return cursor.column === 0
    return this.#isPlain() || "-?:,[]{}&*!|>'\"".includes(cursor.text[cursor.at]!)
  }

  protected properties(): Properties {
    const cursor = this.cursor
    let properties = NO_PROPERTIES
    while (this.isProperty()) {
      const isAnchor = cursor.code() === AMPERSAND
      if (isAnchor && properties.anchor === undefined) properties = { ...properties, anchor: anchorName(cursor) }
      else if (!isAnchor && properties.tag === undefined)
        properties = { ...properties, tag: tagAt(cursor, this.handles) }
      else break
      cursor.keyAllowed = false
      cursor.skipToToken()
    }
    return properties
  }

  /** Reads a scalar, an alias or a collection in brackets. */
  protected inlineNode(outer: number, properties: Properties, line: number): Node {
    const cursor = this.cursor
    const of = (value: unknown): Node => ({ value, line, merges: false })
    switch (cursor.code()) {
      case ASTERISK: {
        if (properties !== NO_PROPERTIES) throw this.noContent(line)
        const value = this.aliased(anchorName(cursor))
        cursor.keyAllowed = false
        return of(value)
      }
      case OPEN_BRACKET:
        return of(this.anchored(properties, () => this.#flowList()))
      case OPEN_BRACE:
        return of(this.anchored(properties, () => this.#flowMap()))
      case QUOTE:
      case APOSTROPHE: {
        const style = cursor.code() === QUOTE ? "double" : "single"
        const text = quotedScalar(cursor)
        cursor.keyAllowed = false
        return { value: this.scalar(text, style, properties), line, merges: false, text: { text, style } }
      }
      default: {
        const text = plainScalar(cursor, outer)
        const { tag } = properties
        const merges = text === "<<" && (tag === undefined || tag === "!" || tag === "tag:yaml.org,2002:merge")
        return { value: this.scalar(text, "plain", properties), line, merges, text: { text, style: "plain" } }
      }
    }
  }

  /** Returns a scalar's value, after counting it and setting its anchor. */
  protected scalar(text: string, style: ScalarStyle, { anchor, tag }: Properties): unknown {
    const value = this.valueOf({ text, style }, tag)
    this.#aliases.count(text.length)
    if (anchor !== undefined) this.#aliases.define(anchor, value, text.length)
    return value
  }

  protected valueOf({ text, style }: PlainOrQuoted, tag: string | undefined): unknown {
    if (tag === undefined) return style === "plain" ? plainValue(text) : text
    return tag === "!" ? text : taggedValue(tag, text)
  }

  /** Returns what an alias stands for. */
  protected aliased(name: string): unknown {
    return this.#aliases.valueOf(name)
  }

  /** Returns the value of a list. */
  protected listOf(items: unknown[], _inBrackets: boolean): unknown {
    return items
  }

  /** Begins the value of a map. */
  protected newMap(_inBrackets: boolean): MapSink {
    return new MapBuilder(this.duplicates)
  }

  /** Reads a collection and sets its anchor. */
  protected anchored<T>({ anchor }: Properties, read: () => T): T {
    if (anchor === undefined) return read()
    const end = this.#aliases.begin(anchor)
    const value = read()
    end(value)
    return value
  }

  // Flow: collections in brackets

  #flowList(): unknown {
    const cursor = this.cursor
    const { line } = cursor
    const items: unknown[] = []
    this.#open()
    for (;;) {
      cursor.skipToToken()
      if (cursor.code() === CLOSE_BRACKET) break
      if (this.isSign(QUESTION_MARK)) {
        items.push(this.#flowPair())
      } else {
        const start = cursor.mark
        const allowed = cursor.keyAllowed
        const node = this.#flowNode()
        if (this.isKey(start, allowed)) items.push(this.#singlePair(node))
        else items.push(node.value)
      }
      if (!this.#takeComma(CLOSE_BRACKET)) throw this.unexpected("did not find expected ',' or ']'", line)
    }
    this.#close()
    return this.listOf(items, true)
  }

  /** Reads `? key: value` in a list, which is a map of its own. */
  #flowPair(): unknown {
    const cursor = this.cursor
    cursor.at++
    cursor.keyAllowed = false
    cursor.skipToToken()
    const key = this.#atFlowEnd() || this.isSign(COLON) ? this.#emptyNode() : this.#flowNode()
    cursor.skipToToken()
    return this.#singlePair(key)
  }

  #singlePair(key: Node): unknown {
    const map = this.newMap(true)
    this.#aliases.count(0)
    map.set(key, this.#flowValue())
    return map.object
  }

  #flowMap(): unknown {
    const cursor = this.cursor
    const { line } = cursor
    const map = this.newMap(true)
    this.#open()
    for (;;) {
      cursor.skipToToken()
      if (cursor.code() === CLOSE_BRACE) break
      const start = cursor.mark
      const allowed = cursor.keyAllowed
      if (this.isSign(QUESTION_MARK)) {
        cursor.at++
        cursor.keyAllowed = false
        cursor.skipToToken()
        const key = this.#atFlowEnd() || this.isSign(COLON) ? this.#emptyNode() : this.#flowNode()
        cursor.skipToToken()
        map.set(key, this.#flowValue())
      } else {
        const key = this.#flowNode()
        map.set(key, this.isKey(start, allowed) ? this.#flowValue() : this.#emptyNode())
      }
      if (!this.#takeComma(CLOSE_BRACE)) throw this.unexpected("did not find expected ',' or '}'", line)
    }
    this.#close()
    return map.object
  }

  /** Reads the value after the `:` at the cursor; null when there is none. */
  #flowValue(): Node {
    const cursor = this.cursor
    if (!this.isSign(COLON)) return this.#emptyNode()
    cursor.at++
    cursor.keyAllowed = false
    cursor.skipToToken()
    return this.#atFlowEnd() ? this.#emptyNode() : this.#flowNode()
  }

  #flowNode(): Node {
    const cursor = this.cursor
    const { line } = cursor
    const properties = this.properties()
    if (this.isInline()) return this.inlineNode(-1, properties, line)
    if (properties !== NO_PROPERTIES && (this.#atFlowEnd() || this.isSign(COLON)))
      return { value: this.scalar("", "plain", properties), line, merges: false }
    throw this.noContent(line)
  }

  #emptyNode(): Node {
    return { value: this.scalar("", "plain", NO_PROPERTIES), line: this.cursor.line, merges: false }
  }

  #atFlowEnd(): boolean {
    const code = this.cursor.code()
    return code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE
  }

  /** Skips a comma. Returns false when the collection ends instead. */
  #takeComma(closing: number): boolean {
    const cursor = this.cursor
    cursor.skipToToken()
    if (cursor.code() === closing) return true
    if (cursor.code() !== COMMA) return false
    cursor.at++
    cursor.keyAllowed = true
    return true
  }

  #open(): void {
    const cursor = this.cursor
    this.enter()
    cursor.at++
    cursor.flow++
    cursor.keyAllowed = true
  }

  #close(): void {
    const cursor = this.cursor
    cursor.at++
    cursor.flow--
    cursor.keyAllowed = false
    this.leave()
  }

  protected enter(): void {
    this.#aliases.count(0)
    if (++this.#levels > MOST_LEVELS) throw new YamlError(`yaml: exceeded max depth of ${MOST_LEVELS}`)
  }
  protected leave(): void {
    this.#levels--
  }

  protected noContent(line: number): YamlError {
    return this.unexpected("did not find expected node content", line)
  }

  /** Returns the error for an unexpected construct, or for a character with which no construct begins. */
  protected unexpected(problem: string, line: number): YamlError {
    const cursor = this.cursor
    if (!isEnd(cursor.code()) && !this.canBegin()) return cursor.error("found character that cannot start any token")
    return structureError(problem, cursor.nextLine, line)
  }
}
