import { writeYaml } from "../../../yaml/write.ts"
import type { Environment } from "../../environment/environment.ts"
import type { Unstructured } from "../../rest/json.ts"

/** Two folders with a file for each object: as it is, and as it would be. Source: kubectl pkg/cmd/diff/diff.go Differ. */
export class Versions {
  readonly #environment: Environment
  readonly live: string
  readonly merged: string

  private constructor(environment: Environment, live: string, merged: string) {
    this.#environment = environment
    this.live = live
    this.merged = merged
  }

  static async create(environment: Environment): Promise<Versions> {
    const make = async (name: string) => {
      const path = `${environment.files.temporary}/${name}-${Math.floor(environment.random.next() * 2 ** 32)}`
      await environment.files.mkdir(path, { mode: 0o700 })
      return path
    }
    return new Versions(environment, await make("LIVE"), await make("MERGED"))
  }

  /** Writes an object into one of the folders. An object that is not there is an empty file. */
  async write(folder: string, name: string, object: Unstructured | null | undefined): Promise<void> {
    const text = object === undefined ? "" : writeYaml(object)
    await this.#environment.files.write(`${folder}/${name}`, text, { mode: 0o700 })
  }

  async remove(): Promise<void> {
    const { files } = this.#environment
    for (const folder of [this.live, this.merged]) await files.remove(folder, { recursive: true })
  }
}
