import { plainValue, taggedValue } from "./resolve.ts"
import { blockScalar, plainScalar, quotedScalar } from "./scalars.ts"
import { anchorName, directives, tagAt } from "./tags.ts"
import { Cursor, structureError, YamlError } from "./cursor.ts"
import {
  AMPERSAND,
  APOSTROPHE,
  ASTERISK,
  BAR,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  DASH,
  EXCLAMATION_MARK,
  GREATER_THAN,
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

/** Go's YAML and JSON decoders both refuse more. */
const MOST_LEVELS = 10_000
/** A key without `?` is at most so long. Source: YAML 1.2, 7.4.2. */
const LONGEST_KEY = 1024

/** What was written of a node beside its value. */
interface Node {
  readonly value: unknown
  /** Where it begins. */
  readonly line: number
  /** A scalar without quotes and tag whose text is `<<`: as a key it merges its value into the map. */
  readonly merges: boolean
  /** The text of a scalar that has no tag of its own. */
  readonly text?: PlainOrQuoted
}

interface PlainOrQuoted {
  readonly text: string
  readonly plain: boolean
}

interface Properties {
  readonly anchor: string | undefined
  readonly tag: string | undefined
}
const NO_PROPERTIES: Properties = { anchor: undefined, tag: undefined }

/**
 * Reads the first document of a text in one pass, without a tree in between: each function reads one construct and
 * gives its value. A node that stands where a key may is read first, and is a key when a `:` follows on its line.
 *
 * Invariant: a function begins at the first character of its construct and ends behind the last; `skipToToken` is
 * called by who goes on.
 */
export class Parser {
  readonly #cursor: Cursor
  readonly #aliases = new Aliases()
  #handles: ReadonlyMap<string, string> = new Map()
  #levels = 0
  /** Keys that stand twice: `line 4: key "a" already set in map`. */
  readonly duplicates: string[] = []

  constructor(text: string) {
    this.#cursor = new Cursor(text)
  }

  /** @throws YamlError */
  document(): unknown {
    const cursor = this.#cursor
    cursor.skipToToken()
    const at = cursor.at
    this.#handles = directives(cursor)
    if (cursor.atDocumentMark() && cursor.code() === DASH) {
      cursor.at += 3
      cursor.keyAllowed = false
    } else if (cursor.at > at) throw structureError("did not find expected <document start>", cursor.nextLine)
    const { line } = cursor
    if (cursor.atDocumentMark()) throw this.#noContent(line)
    cursor.skipToToken()
    const { value } = this.#blockNode(-1, false)
    this.#checkNext(line)
    return value
  }

  /**
   * What follows the document is not read, but it must begin with something that can stand behind the root, which began
   * on `line`.
   */
  #checkNext(line: number): void {
    const cursor = this.#cursor
    cursor.skipToToken()
    if (cursor.atDocumentEnd()) return
    if (!this.#canBegin()) throw cursor.error("found character that cannot start any token")
    if (!cursor.keyAllowed) this.#refuseSigns()
    if (this.#atBlockScalar()) blockScalar(cursor, -1)
    else if (this.#isScalar()) {
      this.#inlineNode(-1, NO_PROPERTIES, cursor.line)
      cursor.skipBlanks()
      if (this.#isSign(COLON) && cursor.line === line) throw this.#unexpected("did not find expected key", line)
    }
  }

  /** Throws at a sign that begins an entry of a block, where none may begin. */
  #refuseSigns(): void {
    const cursor = this.#cursor
    if (this.#isSign(DASH)) throw cursor.error("block sequence entries are not allowed in this context")
    if (this.#isSign(QUESTION_MARK)) throw cursor.error("mapping keys are not allowed in this context")
    if (this.#isSign(COLON)) throw cursor.error("mapping values are not allowed in this context")
  }

  // Blocks

  /**
   * A node in a block whose column is `outer`; `besideKey` where it is the value of a key in that column, so that a
   * list may begin in the same one.
   */
  #blockNode(outer: number, besideKey: boolean): Node {
    const cursor = this.#cursor
    cursor.skipToToken()
    const { line } = cursor
    if (this.#blockEnds(outer, besideKey)) return { value: this.#scalar("", true, NO_PROPERTIES), line, merges: false }
    const start = cursor.mark
    const { keyAllowed } = cursor
    const properties = this.#properties()
    if (properties !== NO_PROPERTIES && (cursor.line > start.line || !this.#isInline())) {
      // They belong to all that follows, if that is deeper.
      if (this.#blockEnds(outer, besideKey) || !this.#hasContent())
        return { value: this.#scalar("", true, properties), line, merges: false }
      return { value: this.#blockContent(outer, besideKey, properties), line, merges: false }
    }
    if (!this.#isInline()) return { value: this.#blockContent(outer, besideKey, properties), line, merges: false }
    const first = this.#inlineNode(outer, properties, line)
    return this.#isKey(start, keyAllowed) ? { value: this.#blockMap(start.column, first), line, merges: false } : first
  }

  /** Whether a node can begin here that has no properties. */
  #hasContent(): boolean {
    return (
      this.#isInline() ||
      this.#atBlockScalar() ||
      this.#isSign(DASH) ||
      this.#isSign(QUESTION_MARK) ||
      this.#isSign(COLON) ||
      this.#isProperty()
    )
  }

  #atBlockScalar(): boolean {
    const code = this.#cursor.code()
    return (code === BAR || code === GREATER_THAN) && this.#cursor.flow === 0
  }

  /** Whether an anchor or a tag begins here. */
  #isProperty(): boolean {
    const code = this.#cursor.code()
    return code === AMPERSAND || code === EXCLAMATION_MARK
  }

  /** Whether what was read since `start` is a key. */
  #isKey(start: { readonly at: number; readonly line: number }, allowed: boolean): boolean {
    const cursor = this.#cursor
    if (cursor.flow === 0 && cursor.keyAllowed) return false
    const end = cursor.at
    cursor.skipBlanks()
    if (!this.#isSign(COLON)) {
      cursor.at = end
      return false
    }
    if (allowed && cursor.line === start.line && cursor.at - start.at <= LONGEST_KEY) return true
    if (cursor.flow > 0) return false
    throw cursor.error("mapping values are not allowed in this context")
  }

  #blockEnds(outer: number, besideKey: boolean): boolean {
    const cursor = this.#cursor
    if (cursor.atDocumentEnd()) return true
    if (cursor.column > outer) return false
    return !(besideKey && cursor.column === outer && this.#isSign(DASH))
  }

  /** A node in a block that is no key: a list, a map with its first key to come, or a scalar. */
  #blockContent(outer: number, besideKey: boolean, properties: Properties): unknown {
    const cursor = this.#cursor
    const { keyAllowed, line } = cursor
    if (!keyAllowed) this.#refuseSigns()
    if (this.#isSign(DASH))
      return this.#anchored(properties, () => this.#blockList(besideKey && cursor.column === outer))
    if (this.#isSign(QUESTION_MARK)) return this.#anchored(properties, () => this.#blockMap(cursor.column, undefined))
    if (this.#isSign(COLON)) throw this.#unexpected("did not find expected key", line)
    if (this.#atBlockScalar()) {
      const text = blockScalar(cursor, outer)
      cursor.keyAllowed = true
      return this.#scalar(text, false, properties)
    }
    if (!this.#isInline()) throw this.#noContent(line)
    // The properties stood on a line before: what begins here may be the first key of a map that they belong to.
    const start = cursor.mark
    return this.#anchored(properties, () => {
      const inner = this.#properties()
      if (inner !== NO_PROPERTIES && cursor.line > start.line) throw this.#noContent(line)
      const first = this.#inlineNode(outer, inner, line)
      if (this.#isKey(start, keyAllowed)) return this.#blockMap(start.column, first)
      if (inner !== NO_PROPERTIES) throw this.#noContent(line)
      return first.text === undefined ? first.value : this.#valueOf(first.text, properties.tag)
    })
  }

  #blockList(besideKey: boolean): unknown[] {
    const cursor = this.#cursor
    const { column, line } = cursor
    const items: unknown[] = []
    this.#enter()
    for (;;) {
      cursor.at++
      cursor.keyAllowed = true
      items.push(this.#blockNode(column, false).value)
      cursor.skipToToken()
      if (cursor.atDocumentEnd() || cursor.column < column) break
      if (cursor.column === column && this.#isSign(DASH) && cursor.keyAllowed) continue
      if (besideKey && cursor.column === column) break
      throw this.#unexpected("did not find expected '-' indicator", line)
    }
    this.#leave()
    return items
  }

  /** A map in the cursor's column, or in that of `first`, its key that was read already. */
  #blockMap(column: number, first: Node | undefined): object {
    const cursor = this.#cursor
    const map = new MapBuilder(this.duplicates)
    const { line } = cursor
    this.#enter()
    let key: Node | undefined = first
    for (;;) {
      if (key === undefined) {
        key = this.#isSign(QUESTION_MARK) ? this.#explicitKey(column) : this.#blockKey(column, line)
      }
      const value = this.#blockValue(column)
      map.set(key, value)
      key = undefined
      cursor.skipToToken()
      if (cursor.atDocumentEnd() || cursor.column < column) break
      if (cursor.column > column || !cursor.keyAllowed || this.#isSign(DASH))
        throw this.#unexpected("did not find expected key", line)
    }
    this.#leave()
    return map.object
  }

  /** `? key`, of any form. */
  #explicitKey(column: number): Node {
    const cursor = this.#cursor
    cursor.at++
    cursor.keyAllowed = true
    const key = this.#blockNode(column, true)
    cursor.skipToToken()
    return key
  }

  /** The next key of a map, which must be one. */
  #blockKey(column: number, line: number): Node {
    const cursor = this.#cursor
    const start = cursor.mark
    const properties = this.#properties()
    if (cursor.line > start.line) throw cursor.error("could not find expected ':'", cursor.nextLine)
    if (!this.#isInline()) throw this.#unexpected("did not find expected key", line)
    const key = this.#inlineNode(column, properties, start.line)
    if (!cursor.keyAllowed) cursor.skipBlanks()
    if (cursor.line === start.line && this.#isSign(COLON) && cursor.at - start.at <= LONGEST_KEY) return key
    cursor.skipToToken()
    throw cursor.error("could not find expected ':'", cursor.nextLine)
  }

  /** What stands behind the `:` at the cursor; null where there is none, after `? key`. */
  #blockValue(column: number): Node {
    const cursor = this.#cursor
    const { line } = cursor
    if (!this.#isSign(COLON) || (cursor.keyAllowed && cursor.column !== column))
      return { value: this.#scalar("", true, NO_PROPERTIES), line, merges: false }
    // Behind a `:` that begins its line more may follow than a scalar.
    cursor.keyAllowed &&= cursor.column === column
    cursor.at++
    return this.#blockNode(column, true)
  }

  // What is the same in blocks and in flow

  /** Whether a scalar, an alias or a collection in brackets begins here. */
  #isInline(): boolean {
    const code = this.#cursor.code()
    return this.#isScalar() || code === OPEN_BRACE || code === OPEN_BRACKET || code === ASTERISK
  }

  #isScalar(): boolean {
    const code = this.#cursor.code()
    return code === QUOTE || code === APOSTROPHE || this.#isPlain()
  }

  #isPlain(): boolean {
    const cursor = this.#cursor
    const code = cursor.code()
    if (isNeverFirst(code)) return false
    if (code === DASH) return !isBlankBreakOrEnd(cursor.code(1))
    return (code !== QUESTION_MARK && code !== COLON) || (cursor.flow === 0 && !isBlankBreakOrEnd(cursor.code(1)))
  }

  /** Whether `-`, `?` or `:` stands here as a sign, and not as a scalar's first character. */
  #isSign(sign: number): boolean {
    const cursor = this.#cursor
    if (cursor.code() !== sign) return false
    return isBlankBreakOrEnd(cursor.code(1)) || (sign !== DASH && cursor.flow > 0)
  }

  /** Whether any construct begins with the character here. */
  #canBegin(): boolean {
    const cursor = this.#cursor
    if (cursor.code() === PERCENT) return cursor.column === 0
    return this.#isPlain() || "-?:,[]{}&*!|>'\"".includes(cursor.text[cursor.at]!)
  }

  #properties(): Properties {
    const cursor = this.#cursor
    let properties = NO_PROPERTIES
    while (this.#isProperty()) {
      const isAnchor = cursor.code() === AMPERSAND
      if (isAnchor && properties.anchor === undefined) properties = { ...properties, anchor: anchorName(cursor) }
      else if (!isAnchor && properties.tag === undefined)
        properties = { ...properties, tag: tagAt(cursor, this.#handles) }
      else break
      cursor.keyAllowed = false
      cursor.skipToToken()
    }
    return properties
  }

  /** A scalar, an alias or a collection in brackets. */
  #inlineNode(outer: number, properties: Properties, line: number): Node {
    const cursor = this.#cursor
    const of = (value: unknown): Node => ({ value, line, merges: false })
    switch (cursor.code()) {
      case ASTERISK: {
        if (properties !== NO_PROPERTIES) throw this.#noContent(line)
        const value = this.#aliases.valueOf(anchorName(cursor))
        cursor.keyAllowed = false
        return of(value)
      }
      case OPEN_BRACKET:
        return of(this.#anchored(properties, () => this.#flowList()))
      case OPEN_BRACE:
        return of(this.#anchored(properties, () => this.#flowMap()))
      case QUOTE:
      case APOSTROPHE: {
        const text = quotedScalar(cursor)
        cursor.keyAllowed = false
        return { value: this.#scalar(text, false, properties), line, merges: false, text: { text, plain: false } }
      }
      default: {
        const text = plainScalar(cursor, outer)
        const { tag } = properties
        const merges = text === "<<" && (tag === undefined || tag === "!" || tag === "tag:yaml.org,2002:merge")
        return { value: this.#scalar(text, true, properties), line, merges, text: { text, plain: true } }
      }
    }
  }

  /** A scalar's value, counted and kept under its anchor. */
  #scalar(text: string, plain: boolean, { anchor, tag }: Properties): unknown {
    const value = this.#valueOf({ text, plain }, tag)
    this.#aliases.count(text.length)
    if (anchor !== undefined) this.#aliases.define(anchor, value, text.length)
    return value
  }

  #valueOf({ text, plain }: PlainOrQuoted, tag: string | undefined): unknown {
    if (tag === undefined) return plain ? plainValue(text) : text
    return tag === "!" ? text : taggedValue(tag, text)
  }

  /** Reads a collection, and keeps it under its anchor. */
  #anchored<T>({ anchor }: Properties, read: () => T): T {
    if (anchor === undefined) return read()
    const end = this.#aliases.begin(anchor)
    const value = read()
    end(value)
    return value
  }

  // Flow: collections in brackets

  #flowList(): unknown[] {
    const cursor = this.#cursor
    const { line } = cursor
    const items: unknown[] = []
    this.#open()
    for (;;) {
      cursor.skipToToken()
      if (cursor.code() === CLOSE_BRACKET) break
      if (this.#isSign(QUESTION_MARK)) {
        items.push(this.#flowPair())
      } else {
        const start = cursor.mark
        const allowed = cursor.keyAllowed
        const node = this.#flowNode()
        if (this.#isKey(start, allowed)) items.push(this.#singlePair(node))
        else items.push(node.value)
      }
      if (!this.#takeComma(CLOSE_BRACKET)) throw this.#unexpected("did not find expected ',' or ']'", line)
    }
    this.#close()
    return items
  }

  /** `? key: value` in a list is a map of its own. */
  #flowPair(): object {
    const cursor = this.#cursor
    cursor.at++
    cursor.keyAllowed = false
    cursor.skipToToken()
    const key = this.#atFlowEnd() || this.#isSign(COLON) ? this.#emptyNode() : this.#flowNode()
    cursor.skipToToken()
    return this.#singlePair(key)
  }

  #singlePair(key: Node): object {
    const map = new MapBuilder(this.duplicates)
    this.#aliases.count(0)
    map.set(key, this.#flowValue())
    return map.object
  }

  #flowMap(): object {
    const cursor = this.#cursor
    const { line } = cursor
    const map = new MapBuilder(this.duplicates)
    this.#open()
    for (;;) {
      cursor.skipToToken()
      if (cursor.code() === CLOSE_BRACE) break
      const start = cursor.mark
      const allowed = cursor.keyAllowed
      if (this.#isSign(QUESTION_MARK)) {
        cursor.at++
        cursor.keyAllowed = false
        cursor.skipToToken()
        const key = this.#atFlowEnd() || this.#isSign(COLON) ? this.#emptyNode() : this.#flowNode()
        cursor.skipToToken()
        map.set(key, this.#flowValue())
      } else {
        const key = this.#flowNode()
        map.set(key, this.#isKey(start, allowed) ? this.#flowValue() : this.#emptyNode())
      }
      if (!this.#takeComma(CLOSE_BRACE)) throw this.#unexpected("did not find expected ',' or '}'", line)
    }
    this.#close()
    return map.object
  }

  /** What stands behind the `:` at the cursor; nothing where there is none. */
  #flowValue(): Node {
    const cursor = this.#cursor
    if (!this.#isSign(COLON)) return this.#emptyNode()
    cursor.at++
    cursor.keyAllowed = false
    cursor.skipToToken()
    return this.#atFlowEnd() ? this.#emptyNode() : this.#flowNode()
  }

  #flowNode(): Node {
    const cursor = this.#cursor
    const { line } = cursor
    const properties = this.#properties()
    if (this.#isInline()) return this.#inlineNode(-1, properties, line)
    if (properties !== NO_PROPERTIES && (this.#atFlowEnd() || this.#isSign(COLON)))
      return { value: this.#scalar("", true, properties), line, merges: false }
    throw this.#noContent(line)
  }

  #emptyNode(): Node {
    return { value: this.#scalar("", true, NO_PROPERTIES), line: this.#cursor.line, merges: false }
  }

  #atFlowEnd(): boolean {
    const code = this.#cursor.code()
    return code === COMMA || code === CLOSE_BRACKET || code === CLOSE_BRACE
  }

  /** Steps over a comma; says whether there is one, or the collection ends. */
  #takeComma(closing: number): boolean {
    const cursor = this.#cursor
    cursor.skipToToken()
    if (cursor.code() === closing) return true
    if (cursor.code() !== COMMA) return false
    cursor.at++
    cursor.keyAllowed = true
    return true
  }

  #open(): void {
    const cursor = this.#cursor
    this.#enter()
    cursor.at++
    cursor.flow++
    cursor.keyAllowed = true
  }

  #close(): void {
    const cursor = this.#cursor
    cursor.at++
    cursor.flow--
    cursor.keyAllowed = false
    this.#leave()
  }

  #enter(): void {
    this.#aliases.count(0)
    if (++this.#levels > MOST_LEVELS) throw new YamlError(`yaml: exceeded max depth of ${MOST_LEVELS}`)
  }
  #leave(): void {
    this.#levels--
  }

  #noContent(line: number): YamlError {
    return this.#unexpected("did not find expected node content", line)
  }

  /** Something else was expected here: unless no construct begins with the character at all. */
  #unexpected(problem: string, line: number): YamlError {
    const cursor = this.#cursor
    if (!isEnd(cursor.code()) && !this.#canBegin()) return cursor.error("found character that cannot start any token")
    return structureError(problem, cursor.nextLine, line)
  }
}
