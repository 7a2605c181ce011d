import { writeYaml } from "../../yaml/write.ts"

/** A field was changed by others since the last apply, and the new configuration changes it too. */
export class ConflictError extends Error {
  override readonly name = "ConflictError"

  /** @param patch what the configuration changes @param changes what others have changed */
  constructor(patch: object, changes: object) {
    super(`patch:\n${writeYaml(patch)}\nconflicts with changes made from original to current:\n${writeYaml(changes)}\n`)
  }
}
