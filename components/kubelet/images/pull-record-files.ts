import { createHash } from "node:crypto"
import { join } from "node:path"
import type { KubeletContext } from "../context.ts"

/** `pulling`: a file for each image that is being pulled. `pulled`: one for each image of which there is a record. */
export type Folder = "pulling" | "pulled"

export interface RecordFile {
  readonly name: string
  /** Undefined for a damaged file. */
  readonly content: unknown
}

const API_VERSION = "kubelet.config.k8s.io/v1beta1"
const KINDS = { pulling: "ImagePullIntent", pulled: "ImagePulledRecord" } as const

/** The files in which the kubelet keeps its pulls for later kubelets. Source: pkg/kubelet/images/pullmanager fs_pullrecords.go. */
export class PullRecordFiles {
  readonly #context: Pick<KubeletContext, "runtime" | "config">
  /** Writes take turns. */
  #writing: Promise<unknown> = Promise.resolve()

  constructor(context: Pick<KubeletContext, "runtime" | "config">) {
    this.#context = context
  }

  async list(folder: Folder): Promise<readonly RecordFile[]> {
    const { files } = this.#context.runtime
    const found: RecordFile[] = []
    for (const name of await files.list(this.#path(folder))) {
      const text = await files.read(this.#path(folder, name))
      if (text !== undefined) found.push({ name, content: parsed(text) })
    }
    return found
  }

  write(folder: Folder, name: string, content: object): Promise<void> {
    const { files } = this.#context.runtime
    return this.#inTurn(async () => {
      await files.makeFolder(this.#path(folder), 0o700)
      const text = JSON.stringify({ kind: KINDS[folder], apiVersion: API_VERSION, ...content })
      await files.write(this.#path(folder, name), text, 0o600)
    })
  }

  remove(folder: Folder, name: string): Promise<void> {
    return this.#inTurn(() => this.#context.runtime.files.remove(this.#path(folder, name)))
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work)
    this.#writing = done.catch(() => undefined) // told to the caller
    return done
  }

  #path(folder: Folder, name = ""): string {
    return join(this.#context.config.root, "image_manager", folder, name)
  }
}

/** Returns the name of the file about an image: about its id, or about its name without a tag. */
export const recordFileOf = (image: string): string => `sha256-${createHash("sha256").update(image).digest("hex")}`

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
