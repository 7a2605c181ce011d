import { blockScalar } from "./scalars.ts"
import { directives } from "./tags.ts"
import { structureError } from "./cursor.ts"
import { BAR, COLON, DASH, GREATER_THAN, QUESTION_MARK } from "./signs.ts"
import { LONGEST_KEY, NO_PROPERTIES, NodeReader, type Node, type Properties } from "./node-reader.ts"

/**
 * Reads the first document of a text in one pass, without a syntax tree: each function reads one construct and returns
 * its value. A node in a place where a key may be is read first, and is a key when a `:` follows on its line.
 *
 * Invariant: a function begins at the first character of its construct and ends after the last; the code that continues
 * calls `skipToToken`.
 */
export class Parser extends NodeReader {
  /** Reads the document. @throws YamlError */
  document(): unknown {
    const cursor = this.cursor
    cursor.skipToToken()
    const at = cursor.at
    this.handles = directives(cursor)
    if (cursor.atDocumentMark() && cursor.code() === DASH) {
      cursor.at += 3
      cursor.keyAllowed = false
    } else if (cursor.at > at) throw structureError("did not find expected <document start>", cursor.nextLine)
    const { line } = cursor
    if (cursor.atDocumentMark()) throw this.noContent(line)
    cursor.skipToToken()
    const { value } = this.#blockNode(-1, false)
    this.#checkNext(line)
    return value
  }

  /**
   * Checks what follows the document. It is not read, but must begin with something that may follow the root, which
   * began on `line`.
   */
  #checkNext(line: number): void {
    const cursor = this.cursor
    cursor.skipToToken()
    if (cursor.atDocumentEnd()) return
    if (!this.canBegin()) throw cursor.error("found character that cannot start any token")
    if (!cursor.keyAllowed) this.#refuseSigns()
    if (this.#atBlockScalar()) blockScalar(cursor, -1)
    else if (this.isScalar()) {
      this.inlineNode(-1, NO_PROPERTIES, cursor.line)
      cursor.skipBlanks()
      if (this.isSign(COLON) && cursor.line === line) throw this.unexpected("did not find expected key", line)
    }
  }

  /** Throws when a character begins an entry of a block here, where none may begin. */
  #refuseSigns(): void {
    const cursor = this.cursor
    if (this.isSign(DASH)) throw cursor.error("block sequence entries are not allowed in this context")
    if (this.isSign(QUESTION_MARK)) throw cursor.error("mapping keys are not allowed in this context")
    if (this.isSign(COLON)) throw cursor.error("mapping values are not allowed in this context")
  }

  // Blocks

  /**
   * Reads a node in a block whose column is `outer`. `besideKey`: the node is the value of a key in that column, so
   * that a list may begin in the same column.
   */
  #blockNode(outer: number, besideKey: boolean): Node {
    const cursor = this.cursor
    cursor.skipToToken()
    const { line } = cursor
    if (this.#blockEnds(outer, besideKey))
      return { value: this.scalar("", "plain", NO_PROPERTIES), line, merges: false }
    const start = cursor.mark
    const { keyAllowed } = cursor
    const properties = this.properties()
    if (properties !== NO_PROPERTIES && (cursor.line > start.line || !this.isInline())) {
      // The properties belong to everything that follows, if that is indented deeper.
      if (this.#blockEnds(outer, besideKey) || !this.#hasContent())
        return { value: this.scalar("", "plain", properties), line, merges: false }
      return { value: this.#blockContent(outer, besideKey, properties), line, merges: false }
    }
    if (!this.isInline()) return { value: this.#blockContent(outer, besideKey, properties), line, merges: false }
    const first = this.inlineNode(outer, properties, line)
    return this.isKey(start, keyAllowed) ? { value: this.#blockMap(start.column, first), line, merges: false } : first
  }

  /** Returns whether a node without properties can begin here. */
  #hasContent(): boolean {
    return (
      this.isInline() ||
      this.#atBlockScalar() ||
      this.isSign(DASH) ||
      this.isSign(QUESTION_MARK) ||
      this.isSign(COLON) ||
      this.isProperty()
    )
  }

  #blockEnds(outer: number, besideKey: boolean): boolean {
    const cursor = this.cursor
    if (cursor.atDocumentEnd()) return true
    if (cursor.column > outer) return false
    return !(besideKey && cursor.column === outer && this.isSign(DASH))
  }

  /** Reads a node in a block that is not a key: a list, a map whose first key comes next, or a scalar. */
  #blockContent(outer: number, besideKey: boolean, properties: Properties): unknown {
    const cursor = this.cursor
    const { keyAllowed, line } = cursor
    if (!keyAllowed) this.#refuseSigns()
    if (this.isSign(DASH)) return this.anchored(properties, () => this.#blockList(besideKey && cursor.column === outer))
    if (this.isSign(QUESTION_MARK)) return this.anchored(properties, () => this.#blockMap(cursor.column, undefined))
    if (this.isSign(COLON)) throw this.unexpected("did not find expected key", line)
    if (this.#atBlockScalar()) {
      const style = cursor.code() === GREATER_THAN ? "folded" : "literal"
      const text = blockScalar(cursor, outer)
      cursor.keyAllowed = true
      return this.scalar(text, style, properties)
    }
    if (!this.isInline()) throw this.noContent(line)
    // The properties were on a line before: the node that begins here may be the first key of a map that they belong
    // to.
    const start = cursor.mark
    return this.anchored(properties, () => {
      const inner = this.properties()
      if (inner !== NO_PROPERTIES && cursor.line > start.line) throw this.noContent(line)
      const first = this.inlineNode(outer, inner, line)
      if (this.isKey(start, keyAllowed)) return this.#blockMap(start.column, first)
      if (inner !== NO_PROPERTIES) throw this.noContent(line)
      return first.text === undefined ? first.value : this.valueOf(first.text, properties.tag)
    })
  }

  #blockList(besideKey: boolean): unknown {
    const cursor = this.cursor
    const { column, line } = cursor
    const items: unknown[] = []
    this.enter()
    for (;;) {
      cursor.at++
      cursor.keyAllowed = true
      items.push(this.#blockNode(column, false).value)
      cursor.skipToToken()
      if (cursor.atDocumentEnd() || cursor.column < column) break
      if (cursor.column === column && this.isSign(DASH) && cursor.keyAllowed) continue
      if (besideKey && cursor.column === column) break
      throw this.unexpected("did not find expected '-' indicator", line)
    }
    this.leave()
    return this.listOf(items, false)
  }

  /** Reads a map in the cursor's column, or in that of `first`, its key that was read already. */
  #blockMap(column: number, first: Node | undefined): unknown {
    const cursor = this.cursor
    const map = this.newMap(false)
    const { line } = cursor
    this.enter()
    let key: Node | undefined = first
    for (;;) {
      if (key === undefined) {
        key = this.isSign(QUESTION_MARK) ? this.#explicitKey(column) : this.#blockKey(column, line)
      }
      const value = this.#blockValue(column)
      map.set(key, value)
      key = undefined
      cursor.skipToToken()
      if (cursor.atDocumentEnd() || cursor.column < column) break
      if (cursor.column > column || !cursor.keyAllowed || this.isSign(DASH))
        throw this.unexpected("did not find expected key", line)
    }
    this.leave()
    return map.object
  }

  /** Reads `? key`, of any form. */
  #explicitKey(column: number): Node {
    const cursor = this.cursor
    cursor.at++
    cursor.keyAllowed = true
    const key = this.#blockNode(column, true)
    cursor.skipToToken()
    return key
  }

  /** Reads the next key of a map, which must be a key. */
  #blockKey(column: number, line: number): Node {
    const cursor = this.cursor
    const start = cursor.mark
    const properties = this.properties()
    if (cursor.line > start.line) throw cursor.error("could not find expected ':'", cursor.nextLine, start.line)
    if (!this.isInline()) throw this.unexpected("did not find expected key", line)
    const key = this.inlineNode(column, properties, start.line)
    if (!cursor.keyAllowed) cursor.skipBlanks()
    if (cursor.line === start.line && this.isSign(COLON) && cursor.at - start.at <= LONGEST_KEY) return key
    cursor.skipToToken()
    throw cursor.error("could not find expected ':'", cursor.nextLine, start.line)
  }

  /** Reads the value after the `:` at the cursor; null when there is none, after `? key`. */
  #blockValue(column: number): Node {
    const cursor = this.cursor
    const { line } = cursor
    if (!this.isSign(COLON) || (cursor.keyAllowed && cursor.column !== column))
      return { value: this.scalar("", "plain", NO_PROPERTIES), line, merges: false }
    // After a `:` that begins its line more than a scalar may follow.
    cursor.keyAllowed &&= cursor.column === column
    cursor.at++
    return this.#blockNode(column, true)
  }

  #atBlockScalar(): boolean {
    const code = this.cursor.code()
    return (code === BAR || code === GREATER_THAN) && this.cursor.flow === 0
  }
}
