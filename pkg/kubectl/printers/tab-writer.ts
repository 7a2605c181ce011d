import type { Output } from "./output.ts"
import { TabAligner, type TabOptions } from "./tab-aligner.ts"

/** Prints text with its tabs as columns. */
export class TabWriter implements Output {
  readonly #out: Output
  readonly #aligner: TabAligner
  readonly #decoder = new TextDecoder()

  constructor(out: Output, options: TabOptions) {
    this.#out = out
    this.#aligner = new TabAligner(options)
  }

  write(text: string | Uint8Array): Promise<void> {
    return this.#print(
      this.#aligner.push(typeof text === "string" ? text : this.#decoder.decode(text, { stream: true })),
    )
  }

  /** Prints what is there, as if the text ended. */
  flush(): Promise<void> {
    return this.#print(this.#aligner.flush())
  }

  forgetWidths(): void {
    this.#aligner.forgetWidths()
  }

  async #print(text: string): Promise<void> {
    if (text !== "") await this.#out.write(text)
  }
}

/** The layout of `kubectl get`. Source: cli-runtime pkg/printers/tabwriter.go. */
export const newTabWriter = (out: Output): TabWriter =>
  new TabWriter(out, { minWidth: 6, padding: 3, rememberWidths: true })
