import { isConflict, StatusError } from "../../errors/status-error.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import type { Info } from "../../resource/info.ts"
import { goJson } from "../../rest/json.ts"
import { report, warnIfDeleting, type ApplyOptions } from "./apply-options.ts"
import { keepAnnotation, migrate } from "./migration.ts"

/** Applies an object in the server. Source: kubectl pkg/cmd/apply/apply.go (applyOneObject). */
export async function applyServerSide(
  info: Info,
  options: ApplyOptions,
  visited: (uid: string) => void,
): Promise<void> {
  const { fieldManager, fieldValidation, subresource, forceConflicts: force, errOut } = options
  const body = `${goJson(info.loaded)}\n`
  const writes = { fieldManager, fieldValidation, serverDryRun: options.dryRun === "server", force }
  const apply = (more: { readonly subresource?: string } = {}) =>
    info.helper.patch(info.namespace, info.name, "application/apply-patch+yaml", body, { ...writes, ...more })
  try {
    info.refresh(await apply(subresource === "" ? {} : { subresource }))
  } catch (err) {
    throw explained(err)
  }
  try {
    await keepAnnotation(info, options)
    await migrateFields(info, options, apply)
  } catch (err) {
    await errOut.write(
      `Warning: failed to migrate kubectl.kubernetes.io/last-applied-configuration for Server-Side Apply. This is non-fatal and will be retried next time you apply. Error: ${errorMessage(err)}\n`,
    )
  }
  await warnIfDeleting(info, errOut)
  visited(info.loaded.metadata?.uid ?? "")
  await report(info, "serverside-applied", options)
}

/** Gives fields that were applied by the client to the server's apply, and applies again, so that some can go. */
async function migrateFields(
  info: Info,
  options: ApplyOptions,
  apply: () => ReturnType<Info["helper"]["patch"]>,
): Promise<void> {
  const { errOut } = options
  try {
    if (!(await migrate(info, options))) return
  } catch (err) {
    await errOut.write(
      `Warning: server rejected managed fields migration to Server-Side Apply. This is non-fatal and will be retried next time you apply. Error: ${errorMessage(err)}\n`,
    )
    return
  }
  try {
    info.refresh(await apply())
  } catch (err) {
    await errOut.write(
      `Warning: failed to re-apply configuration after performing Server-Side Apply migration. This is non-fatal and will be retried next time you apply. Error: ${errorMessage(err)}\n`,
    )
  }
}

function explained(err: unknown): unknown {
  if (err instanceof StatusError && err.code === 415)
    return new Error(`Server-side apply not available on the server: (${err.message})`, { cause: err })
  if (!isConflict(err)) return err
  return new Error(
    `${err.message}
Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the \`--force-conflicts\` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts`,
    { cause: err },
  )
}
