/** A text that is being written, and the column in which its last line ends. */
export class LineWriter {
  text = ""
  /** Code points since the last line break. */
  column = 0

  /** Adds text without line breaks. */
  put(text: string): void {
    this.text += text
    for (const _ of text) this.column++
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
