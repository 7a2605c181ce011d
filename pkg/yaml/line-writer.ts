const isFirstHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/** A text that is being written, and the column in which its last line ends. */
export class LineWriter {
  text = ""
  /** Code points since the last line break. */
  column = 0

  /** Adds text without line breaks. */
  put(text: string): void {
    this.text += text
    for (let i = 0; i < text.length; i++) {
      // The second half of a pair of surrogates is no code point of its own.
      const code = text.charCodeAt(i)
      if (code < 0xdc00 || code > 0xdfff || i === 0 || !isFirstHalf(text.charCodeAt(i - 1))) this.column++
    }
  }

  /** Returns the text so far, which is written no more. */
  take(): string {
    const { text } = this
    this.text = ""
    return text
  }

  /** Adds a character that ends the line. */
  break(sign = "\n"): void {
    this.text += sign
    this.column = 0
  }

  /** Indents to a column, on a line that contains only indentation. */
  startLine(indent: number): void {
    if (this.column > 0) this.break()
    this.put(" ".repeat(indent))
  }
}
