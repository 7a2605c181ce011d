import { errorMessage } from "../../../errors/error-message.ts"
import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, intFlag, stringArrayFlag } from "../../command/flag.ts"
import { fieldManagerFlag, filenameFlags, filenameOptions, selectorFlag } from "../../command/shared-flags.ts"
import { ExitError, SilentExit } from "../../errors/errors.ts"
import { reportOf } from "../../errors/report.ts"
import { isConflict, isNotFound } from "../../errors/status-error.ts"
import { unannotated } from "../../last-applied.ts"
import type { Info } from "../../resource/info.ts"
import { requireFiles } from "../../resource/resource-args.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"
import { gvkText, type GroupVersionKind } from "../../rest/rest-mapper.ts"
import { warnIfDeleting, type ApplyOptions } from "../apply/apply-options.ts"
import { SERVER_SIDE_MANAGER } from "../apply/migration.ts"
import { patchCurrent } from "../apply/patcher.ts"
import { parsePruneResources, visitPruned, type PruneResource } from "../apply/prune.ts"
import { FAILED, runDiff } from "./diff-program.ts"
import { maskedSecrets } from "./mask-secret.ts"
import { Pool } from "./pool.ts"
import { Versions } from "./versions.ts"

const CLIENT_SIDE_MANAGER = "kubectl-client-side-apply"
const MOST_ATTEMPTS = 4

const flags = {
  ...filenameFlags("with the configurations to compare."),
  ...selectorFlag(),
  ...fieldManagerFlag(CLIENT_SIDE_MANAGER),
  "server-side": boolFlag(false, "If true, the server applies instead of this program."),
  "force-conflicts": boolFlag(false, "If true, server-side apply takes fields from other managers."),
  prune: boolFlag(false, "Show also what pruning would delete. Use it with -l; otherwise it looks at all objects."),
  "prune-allowlist": stringArrayFlag(
    [],
    "The kinds that --prune looks at, as <group/version/kind>, instead of its own list",
  ),
  "show-managed-fields": boolFlag(false, "If true, show managed fields."),
  "show-secrets": boolFlag(false, "If true, show the values of Secrets."),
  concurrency: intFlag(1, "The number of objects that are compared at once."),
}
type DiffInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/diff/diff.go. */
export const diffCommand = command({
  use: "diff -f FILENAME",
  noFlagsInUse: true,
  flagErrorCode: FAILED,
  short: "Diff the live version against a would-be applied version",
  long: `
Compare objects as they are with what they would be if configurations were applied. The output is always YAML.

 The variable KUBECTL_EXTERNAL_DIFF names another program than diff, with arguments: KUBECTL_EXTERNAL_DIFF="colordiff -N -u". Without it "diff -u -N" is run.

 Exit status: 0 No differences were found. 1 Differences were found. >1 Kubectl or diff failed with an error.

 Note: KUBECTL_EXTERNAL_DIFF, if used, is expected to follow that convention.`,
  example: `
# Compare what pod.json describes
kubectl diff -f pod.json

# Compare what the input describes
cat service.yaml | kubectl diff -f -`,
  flags,
  async run(invocation) {
    try {
      await diff(invocation)
    } catch (err) {
      if (err instanceof SilentExit || err instanceof ExitError) throw err
      const { text, code } = reportOf(err)
      throw new ExitError(text, code === 1 ? FAILED : code)
    }
  },
})

async function diff(invocation: DiffInvocation): Promise<void> {
  const { flags: values, args, factory, environment, usageError } = invocation
  if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`)
  requireFiles(filenameOptions(values))
  if (values["force-conflicts"] && !values["server-side"])
    throw new Error("--force-conflicts only works with --server-side")
  const pruned = values.prune
    ? await parsePruneResources(() => factory.restMapper(), values["prune-allowlist"])
    : undefined
  const versions = await Versions.create(environment)
  try {
    await new Diff(invocation, versions, pruned).run()
    await runDiff(invocation, versions.live, versions.merged)
  } finally {
    await versions.remove()
  }
}

class Diff {
  readonly #invocation: DiffInvocation
  readonly #versions: Versions
  /** The kinds that pruning looks at; undefined without pruning. */
  readonly #pruned: readonly PruneResource[] | undefined
  readonly #uids = new Set<string>()
  readonly #namespaces = new Set<string>()

  constructor(invocation: DiffInvocation, versions: Versions, pruned: readonly PruneResource[] | undefined) {
    this.#invocation = invocation
    this.#versions = versions
    this.#pruned = pruned
  }

  async run(): Promise<void> {
    const { factory, flags: values } = this.#invocation
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      files: filenameOptions(values),
      namespace,
      enforceNamespace: explicit,
      defaultNamespace: true,
      labelSelector: values.selector,
      flatten: true,
    })
    let failure: unknown
    try {
      const pool = new Pool(values.concurrency)
      await result.visit((info) => pool.run(() => this.#compare(info)))
      await pool.ended()
    } catch (err) {
      failure = err
    }
    if (this.#pruned !== undefined) await this.#showPruned(this.#pruned)
    if (failure !== undefined) throw failure
  }

  async #compare(info: Info): Promise<void> {
    const { factory, errOut } = this.#invocation
    const local = info.loaded
    for (let attempt = 1; ; attempt++) {
      const isFound = await this.#read(info)
      const isLast = attempt === MOST_ATTEMPTS
      if (isLast)
        factory.log.warning(
          `Object (${gvkText(info.mapping.kind)}: ${info.name}) keeps changing, diffing without lock`,
          "diff.go:723",
        )
      if (info.namespaced) this.#namespaces.add(info.namespace)
      const live = isFound ? info.loaded : undefined
      if (live?.metadata?.uid !== undefined) this.#uids.add(live.metadata.uid)
      try {
        await this.#write(info, live, await this.#merged(info, local, { isFound, locks: !isLast }))
        break
      } catch (err) {
        if (isLast || !isConflict(err)) throw err
      }
    }
    await warnIfDeleting(info, errOut)
  }

  /** Reads the object. Returns false when it is not there. */
  async #read(info: Info): Promise<boolean> {
    try {
      await info.get()
      return true
    } catch (err) {
      if (!isNotFound(err)) throw err
      info.object = undefined
      return false
    }
  }

  /** Returns the object as it would be, from a dry run of the server. */
  async #merged(
    info: Info,
    local: Unstructured,
    { isFound, locks }: { readonly isFound: boolean; readonly locks: boolean },
  ): Promise<Unstructured> {
    const { flags: values, changed, factory, out, errOut } = this.#invocation
    const isServerSide = values["server-side"]
    const fieldManager = !changed("field-manager") && isServerSide ? SERVER_SIDE_MANAGER : values["field-manager"]
    const writes = { fieldManager, serverDryRun: true }
    if (isServerSide)
      return info.helper.patch(info.namespace, info.name, "application/apply-patch+yaml", `${goJson(local)}\n`, {
        ...writes,
        force: values["force-conflicts"],
      })
    if (!isFound) return info.helper.create(info.namespace, local, writes)
    const options: ApplyOptions = {
      factory,
      out,
      errOut,
      fieldManager,
      locks,
      dryRun: "server",
      fieldValidation: "",
      propagation: "Background",
      gracePeriod: -1,
      force: false,
      forceConflicts: false,
      overwrite: true,
      openApiPatch: true,
      subresource: "",
      timeoutMs: 0,
      printsObjects: true,
      printer: () => Promise.reject(new Error("diff prints no objects")),
    }
    return (await patchCurrent(info, unannotated(local), options)).object
  }

  async #write(info: Info, live: Unstructured | undefined, merged: Unstructured): Promise<void> {
    const { flags: values } = this.#invocation
    const shown = (object: Unstructured) => (values["show-managed-fields"] ? object : withoutManagedFields(object))
    const name = fileName(info.mapping.kind, info.namespace, info.name)
    let [from, to]: [Unstructured | null | undefined, Unstructured] = [live && shown(live), shown(merged)]
    if (!values["show-secrets"] && merged.kind === "Secret" && merged.apiVersion === "v1") {
      const masked = maskedSecrets(from, to)
      // Upstream writes null for a Secret that is not there.
      from = masked.from ?? null
      to = masked.to
    }
    await this.#versions.write(this.#versions.live, name, from)
    await this.#versions.write(this.#versions.merged, name, to)
  }

  /** Objects that pruning would delete are only among those that are there. */
  async #showPruned(resources: readonly PruneResource[]): Promise<void> {
    const { factory, flags: values } = this.#invocation
    const visited = { uids: this.#uids, namespaces: this.#namespaces }
    try {
      await visitPruned(
        { factory, resources, labelSelector: values.selector, visited },
        async ({ kind }, namespace, object) => {
          const { group, version } = kind
          const typed = { apiVersion: group === "" ? version : `${group}/${version}`, kind: kind.kind, ...object }
          await this.#versions.write(this.#versions.live, fileName(kind, namespace, object.metadata?.name ?? ""), typed)
        },
      )
    } catch (err) {
      factory.log.warning(`pruning failed and could not be evaluated err: ${errorMessage(err)}`, "diff.go:760")
    }
  }
}

const fileName = ({ group, version, kind }: GroupVersionKind, namespace: string, name: string): string =>
  `${group === "" ? "" : `${group}.`}${version}.${kind}.${namespace}.${name}`

function withoutManagedFields(object: Unstructured): Unstructured {
  if (object.metadata === undefined) return object
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata }
}
