import { resolve } from "node:path"
import { errorMessage } from "../../errors/error-message.ts"
import type { Environment } from "../environment/environment.ts"
import { errorCode, goPathError } from "../environment/files.ts"
import type { Output } from "../printers/output.ts"
import { decodePreference } from "./decode.ts"
import type { KubercPath } from "./kuberc-path.ts"
import type { Preference } from "./preference.ts"

/**
 * Reads the preferences; undefined when there are none. Of a file that nobody has named errors are only told. Source:
 * kubectl pkg/kuberc/kuberc.go (DefaultGetPreferences).
 */
export async function loadPreference(
  { path, isExplicit }: KubercPath,
  { files, cwd }: Pick<Environment, "files" | "cwd">,
  errOut: Output,
  log: (message: string) => void,
): Promise<Preference | undefined> {
  try {
    const text = new TextDecoder().decode(await files.read(resolve(cwd, path)))
    const decoded = decodePreference(text, path, log)
    if (decoded?.strict !== undefined)
      await errOut.write(`kuberc: ignoring strict decoding error in ${path}: ${decoded.strict}`)
    return decoded?.preference
  } catch (thrown) {
    const err = errorCode(thrown) === undefined ? thrown : goPathError("open", path, thrown)
    if (isExplicit) throw new Error(`kuberc: ${errorMessage(err)}`, { cause: err })
    if (errorCode(err) !== "ENOENT")
      await errOut.write(`kuberc: no preferences loaded from ${path}: ${errorMessage(err)}`)
    return undefined
  }
}
