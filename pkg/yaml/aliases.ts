import { YamlError } from "./cursor.ts"

interface Anchored {
  readonly value: unknown
  /** The number of nodes and characters in the value, including those of its aliases. */
  readonly nodes: number
  readonly characters: number
}

/** The number of characters that aliases may repeat in all: as many as a request may have. */
const MOST_REPEATED_CHARACTERS = 3 * 1024 * 1024

/**
 * The anchors of a document, with a limit on what aliases repeat. Values of aliases are shared, but code that walks the
 * document visits them each time. Source of the limits: go.yaml.in/yaml/v2 decode.go allowedAliasRatio; it has none on
 * characters.
 */
export class Aliases {
  /** The anchored values by name; undefined while a value is not complete. */
  readonly #anchors = new Map<string, Anchored | undefined>()
  #nodes = 0
  #characters = 0
  #repeatedNodes = 0
  #repeatedCharacters = 0

  /** Counts a node of the document with this many characters of text. */
  count(characters: number): void {
    this.#nodes++
    this.#characters += characters
  }

  /** Sets the anchor of a scalar. */
  define(name: string, value: unknown, characters: number): void {
    this.#anchors.set(name, { value, nodes: 1, characters })
  }

  /** Begins a collection with an anchor. The returned function sets its value when it is complete. */
  begin(name: string): (value: unknown) => void {
    const [nodes, characters] = [this.#nodes, this.#characters]
    this.#anchors.set(name, undefined)
    return (value) =>
      this.#anchors.set(name, { value, nodes: this.#nodes - nodes, characters: this.#characters - characters })
  }

  /**
   * Returns the value of an anchor.
   * @throws YamlError when there is no such anchor, when it is inside its own value, or when aliases repeat too much
   */
  valueOf(name: string): unknown {
    const anchored = this.#anchors.get(name)
    if (anchored === undefined)
      throw new YamlError(
        this.#anchors.has(name)
          ? `yaml: anchor '${name}' value contains itself`
          : `yaml: unknown anchor '${name}' referenced`,
      )
    this.#nodes += 1 + anchored.nodes
    this.#characters += anchored.characters
    this.#repeatedNodes += anchored.nodes
    this.#repeatedCharacters += anchored.characters
    if (
      this.#repeatedCharacters > MOST_REPEATED_CHARACTERS ||
      (this.#repeatedNodes > 100 && this.#nodes > 1000 && this.#repeatedNodes / this.#nodes > allowedShare(this.#nodes))
    )
      throw new YamlError("yaml: document contains excessive aliasing")
    return anchored.value
  }
}

const [SMALL, LARGE] = [400_000, 4_000_000]

/** Returns the share of a document's nodes that may come from aliases. */
const allowedShare = (nodes: number): number => 0.99 - 0.89 * Math.min(1, Math.max(0, nodes - SMALL) / (LARGE - SMALL))
