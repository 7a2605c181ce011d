import { goQuoted } from "../../../apimachinery/go/go-text.ts"
import type { FlagValues } from "../../command/flag.ts"
import type { Invocation } from "../../command/command.ts"
import { fieldManagerFlag } from "../../command/shared-flags.ts"
import { throwAggregate } from "../../errors/aggregate.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import type { Info } from "../../resource/info.ts"
import { goJson } from "../../rest/json.ts"
import { requireTarget, targetFlags, targets } from "./targets.ts"

export const changeFlags = { ...printFlags(), ...targetFlags, ...fieldManagerFlag("kubectl-rollout") }
export type ChangeInvocation = Invocation<typeof changeFlags>

/** How a command changes objects. */
export interface Change {
  /** What has become of an object: `paused`. */
  readonly done: string
  /** Returns the strategic merge patch of an object. @throws Error where it cannot be changed, or needs no change */
  patchOf(info: Info): object
}

/** Changes every object that the command line names, and prints each. */
export async function changeAll(invocation: ChangeInvocation, { done, patchOf }: Change): Promise<void> {
  const { flags, args, factory, changed, out, errOut } = invocation
  requireTarget(args, flags)
  const { namespace } = await factory.namespace()
  const result = await targets(invocation, flags)
  const { infos, error } = await result.infosAndError()
  if (infos.length === 0 && error === undefined) return errOut.write(`No resources found in ${namespace} namespace.\n`)
  const printer = () =>
    printerOf(flags satisfies FlagValues<typeof changeFlags>, done, {
      readFile: (path) => factory.readFile(path),
      outputIsSet: changed("output"),
    })
  const errors: unknown[] = error === undefined ? [] : [error]
  for (const info of infos) {
    const { group, resource } = info.mapping.resource
    let patch: object
    try {
      patch = patchOf(info)
    } catch (err) {
      const name = group === "" ? resource : `${resource}.${group}`
      const message = errorMessage(err)
      errors.push(err instanceof NotAgain ? err : new Error(`error: ${name} ${goQuoted(info.name)} ${message}`))
      continue
    }
    try {
      info.refresh(
        await info.helper.patch(info.namespace, info.name, "application/strategic-merge-patch+json", goJson(patch), {
          fieldManager: flags["field-manager"],
        }),
      )
    } catch (err) {
      errors.push(new Error(`failed to patch: ${errorMessage(err)}`, { cause: err }))
      continue
    }
    await (await printer()).print(info.loaded, out)
  }
  throwAggregate(errors)
}

/** The object is as if it had been changed already. */
export class NotAgain extends Error {
  override readonly name = "NotAgain"
}
