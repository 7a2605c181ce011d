import type { Random } from "../../../../clock/random.ts"
import type { RecordedObject, RecordedWrite, RecordingHead } from "../../../../replay/format.ts"
import { RecordingWriter, type Sink } from "../../../../replay/recording-writer.ts"
import type { RecordedKind } from "../kinds.ts"
import { Anonymiser } from "./anonymiser.ts"
import { vocabularyOf } from "./vocabulary.ts"

const KEY_BYTES = 32

/** Writes a recording by other names. The key by which they are made is forgotten with the writer. */
export class AnonymousWriter extends RecordingWriter {
  readonly #anonymiser: Anonymiser

  private constructor(sink: Sink, anonymiser: Anonymiser) {
    super(sink)
    this.#anonymiser = anonymiser
  }

  static with(sink: Sink, kinds: readonly RecordedKind[], random: Random): AnonymousWriter {
    const key = random.bytes(KEY_BYTES)
    const kept = vocabularyOf(kinds.flatMap(({ group, resource, kind }) => [group, resource, kind]))
    return new AnonymousWriter(sink, new Anonymiser(key, kept))
  }

  override head({ namespaces, ...head }: Omit<RecordingHead, "k3tsRecording" | "anonymised">): Promise<void> {
    return super.head({ ...head, namespaces: namespaces.map((name) => this.#anonymiser.name(name)) }, true)
  }

  override object({ resource, object }: Omit<RecordedObject, "type">): Promise<void> {
    return super.object({ resource, object: this.#anonymiser.object(object) })
  }

  override write({ user, clients, object, ...others }: Omit<RecordedWrite, "type">): Promise<void> {
    return super.write({
      ...others,
      user: this.#anonymiser.name(user),
      clients: clients.map((name) => this.#anonymiser.name(name)),
      object: this.#anonymiser.object(object),
    })
  }
}
