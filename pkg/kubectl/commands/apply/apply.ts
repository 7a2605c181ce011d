import { command, type Invocation } from "../../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag } from "../../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  fieldValidationOf,
  filenameOptions,
  selectorFlag,
  subresourceFlag,
  validateFlag,
  withDryRun,
  type DryRun,
} from "../../command/shared-flags.ts"
import { aggregate } from "../../errors/aggregate.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedObject } from "../../printers/printer.ts"
import type { Info } from "../../resource/info.ts"
import { requireFiles } from "../../resource/resource-args.ts"
import { sortKeys, type Unstructured } from "../../rest/json.ts"
import { deletionFlags, propagationOf } from "../delete/delete-flags.ts"
import { gracePeriodOf } from "../delete/delete.ts"
import { recorded, recordFlag } from "../record.ts"
import type { ApplyOptions } from "./apply-options.ts"
import type { ApplySet } from "./applyset.ts"
import { applyClientSide } from "./client-side.ts"
import { SERVER_SIDE_MANAGER } from "./migration.ts"
import { parsePruneResources, pruneAll, type PruneResource } from "./prune.ts"
import { applyServerSide } from "./server-side.ts"

const CLIENT_SIDE_MANAGER = "kubectl-client-side-apply"

const flags = {
  ...deletionFlags("with the configurations to apply."),
  ...recordFlag(),
  ...printFlags(),
  ...validateFlag(),
  ...dryRunFlag(),
  "server-side": boolFlag(false, "If true, the server applies instead of this program."),
  "force-conflicts": boolFlag(false, "If true, server-side apply takes fields from other managers."),
  ...fieldManagerFlag(CLIENT_SIDE_MANAGER),
  ...selectorFlag(),
  prune: boolFlag(
    false,
    "Delete objects that were created by apply or create --save-config and are not in the configuration any more. Use it with -l or --all.",
  ),
  "prune-allowlist": stringArrayFlag(
    [],
    "The kinds that --prune looks at, as <group/version/kind>, instead of its own list",
  ),
  all: boolFlag(false, "Select all resources of the types, in the namespace."),
  applyset: stringFlag(
    "",
    "The set that remembers what was applied, as [RESOURCE][.GROUP]/NAME: objects of it that are not in the configuration any more are deleted. A Secret unless a resource is given.",
    { hidden: true },
  ),
  overwrite: boolFlag(true, "Set fields to what the configuration says also where others have changed them"),
  "openapi-patch": boolFlag(
    true,
    "If true, use the OpenAPI documents of the server to find out what changes, where they have the resource. Otherwise use what this program knows.",
  ),
  ...subresourceFlag("The subresource to apply to. Only together with --server-side."),
}

type ApplyInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/apply/apply.go. */
export const applyCommand = command({
  use: "apply (-f FILENAME | -k DIRECTORY)",
  noFlagsInUse: true,
  short: "Apply a configuration to a resource by file or from the input",
  long: `
Apply a configuration to a resource by file or from the input. The resource must have a name. It is created if it is not there yet. To use 'apply', create the resource with 'apply' or 'create --save-config' from the beginning.

 JSON and YAML are accepted.

 Alpha: --prune is not complete yet. Do not use it without knowing what it does. See https://issues.k8s.io/34274.`,
  example: `
# Apply the configuration in pod.json to a pod
kubectl apply -f ./pod.json

# Apply what a folder with a kustomization.yaml describes
kubectl apply -k dir/

# Apply the JSON of the input to a pod
cat pod.json | kubectl apply -f -

# Apply what all files whose names end in '.json' describe
kubectl apply -f '*.json'

# Note: --prune is still alpha
# Apply manifest.yaml to what has the label app=nginx, and delete what has the label and is not in the file
kubectl apply --prune -f manifest.yaml -l app=nginx

# Apply manifest.yaml and delete all config maps that are not in the file
kubectl apply --prune -f manifest.yaml --all --prune-allowlist=core/v1/ConfigMap`,
  flags,
  commands: [
    {
      name: "edit-last-applied",
      short: "Edit what was applied last to a resource",
      load: () => import("./edit-last-applied.ts").then((file) => file.editLastAppliedCommand),
    },
    {
      name: "view-last-applied",
      short: "View the configuration that was applied last",
      load: () => import("./view-last-applied.ts").then((file) => file.viewLastAppliedCommand),
    },
    {
      name: "set-last-applied",
      short: "Set the annotation of what was applied last to the contents of a file",
      load: () => import("./set-last-applied.ts").then((file) => file.setLastAppliedCommand),
    },
  ],
  async run(invocation) {
    const { flags: values, args, factory, usageError, environment } = invocation
    if (args.length > 0) throw usageError(`Unexpected args: [${args.join(" ")}]`)
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    requireFiles(filenameOptions(values))
    const options = await optionsOf(invocation, dryRun)
    const parentText = applySetOf(invocation)
    const set = parentText === "" ? undefined : await loadedSet(parentText, options, environment.version.gitVersion)
    const pruneResources = values.prune
      ? await parsePruneResources(() => factory.restMapper(), values["prune-allowlist"])
      : []
    check(invocation, dryRun, set !== undefined, pruneResources)
    await set?.validate()
    await new Apply(invocation, options, pruneResources, set).run()
  },
})

/**
 * Returns the parent of the set that the command line names. The flag is there only where a variable asks for the alpha
 * feature.
 */
function applySetOf({ flags: values, environment }: ApplyInvocation): string {
  const isOn = environment.variables["KUBECTL_APPLYSET"]?.toLowerCase() === "true"
  if (values.applyset !== "" && !isOn)
    throw new Error("unknown flag: --applyset\nSee 'kubectl apply --help' for usage.")
  return values.applyset
}

async function loadedSet(text: string, options: ApplyOptions, version: string): Promise<ApplySet> {
  const { ApplySet: Set, parseParent } = await import("./applyset.ts")
  return new Set(await parseParent(text, options.factory), options, version)
}

async function optionsOf(
  { flags: values, changed, factory, out, errOut }: ApplyInvocation,
  dryRun: DryRun,
): Promise<ApplyOptions> {
  const managed = changed("field-manager")
  return {
    factory,
    out,
    errOut,
    dryRun,
    fieldValidation: fieldValidationOf(values.validate),
    fieldManager: managed ? values["field-manager"] : values["server-side"] ? SERVER_SIDE_MANAGER : CLIENT_SIDE_MANAGER,
    propagation: await propagationOf(values.cascade, errOut),
    gracePeriod: gracePeriodOf(values),
    force: values.force,
    forceConflicts: values["force-conflicts"],
    overwrite: values.overwrite,
    openApiPatch: values["openapi-patch"],
    subresource: values.subresource,
    timeoutMs: values.timeout,
    printsObjects: values.output !== "" && values.output !== "name",
    printer: (operation) => printerOf(values, withDryRun(operation, dryRun), factory),
  }
}

function check(
  { flags: values }: ApplyInvocation,
  dryRun: DryRun,
  hasSet: boolean,
  pruneResources: readonly PruneResource[],
): void {
  const serverSide = values["server-side"]
  if (values["force-conflicts"] && !serverSide) throw new Error("--force-conflicts only works with --server-side")
  if (dryRun === "client" && serverSide)
    throw new Error("--dry-run=client doesn't work with --server-side (did you mean --dry-run=server instead?)")
  if (serverSide && values.force) throw new Error("--force cannot be used with --server-side")
  if (dryRun === "server" && values.force) throw new Error("--dry-run=server cannot be used with --force")
  if (values.all && values.selector !== "") throw new Error("cannot set --all and --selector at the same time")
  if (hasSet && !values.prune) throw new Error("--applyset requires --prune")
  if (values.prune) checkPrune(values, hasSet, pruneResources)
  if (values.subresource !== "" && !serverSide) throw new Error("--subresource can only be specified for --server-side")
}

function checkPrune(values: ApplyInvocation["flags"], hasSet: boolean, pruneResources: readonly PruneResource[]): void {
  if (values.force) throw new Error("--force cannot be used with --prune")
  if (hasSet) {
    if (values.all) throw new Error("--all is incompatible with --applyset")
    if (values.selector !== "") throw new Error("--selector is incompatible with --applyset")
    if (pruneResources.length > 0) throw new Error("--prune-allowlist is incompatible with --applyset")
    return
  }
  if (!values.all && values.selector === "")
    throw new Error(
      "all resources selected for prune without explicitly passing --all. To prune all resources, pass the --all flag. If you did not mean to prune all resources, specify a label selector",
    )
  if (values["server-side"])
    throw new Error("--prune is in alpha and doesn't currently work on objects created by server-side apply")
}

/** One run of apply. */
class Apply {
  readonly #invocation: ApplyInvocation
  readonly #options: ApplyOptions
  readonly #pruneResources: readonly PruneResource[]
  readonly #set: ApplySet | undefined
  readonly #uids = new Set<string>()
  readonly #namespaces = new Set<string>()

  constructor(
    invocation: ApplyInvocation,
    options: ApplyOptions,
    pruneResources: readonly PruneResource[],
    set: ApplySet | undefined,
  ) {
    this.#set = set
    this.#invocation = invocation
    this.#options = options
    this.#pruneResources = pruneResources
  }

  async run(): Promise<void> {
    const { flags: values } = this.#invocation
    const errors: unknown[] = []
    const { infos, error } = await this.#read()
    if (error !== undefined) errors.push(error)
    if (infos.length === 0 && errors.length === 0) throw new Error("no objects passed to apply")
    this.#set?.label(infos)
    await this.#set?.begin(infos)
    for (const info of infos)
      try {
        await this.#one(info)
      } catch (err) {
        errors.push(err)
      }
    if (errors.length === 1) throw errors[0]
    const all = aggregate(errors)
    if (all !== undefined) throw all
    await this.#print(infos)
    if (this.#set !== undefined) await this.#set.prune(this.#uids)
    else if (values.prune)
      await pruneAll(this.#options, this.#pruneResources, values.selector, {
        uids: this.#uids,
        namespaces: this.#namespaces,
      })
  }

  async #read() {
    const { flags: values, factory } = this.#invocation
    const { namespace, explicit } = await factory.namespace()
    if (explicit) this.#namespaces.add(namespace)
    const validate = await factory.validator(fieldValidationOf(values.validate))
    const result = await factory.build({
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      labelSelector: values.selector,
      requireObject: false,
      continueOnError: true,
      flatten: true,
      ...(validate === undefined ? {} : { validate }),
    })
    return result.infosAndError()
  }

  async #one(info: Info): Promise<void> {
    if (info.namespaced) this.#namespaces.add(info.namespace)
    info.object = recorded(info.loaded, this.#invocation)
    const generateName = info.loaded.metadata?.generateName ?? ""
    if (info.name === "" && generateName !== "")
      throw new Error(`from ${generateName}: cannot use generate name with apply`)
    const apply = this.#invocation.flags["server-side"] ? applyServerSide : applyClientSide
    await apply(info, this.#options, (uid) => void this.#uids.add(uid))
  }

  /** Prints the objects as a whole, a List of several. */
  async #print(infos: readonly Info[]): Promise<void> {
    if (!this.#options.printsObjects || infos.length === 0) return
    const [first, ...others] = infos.map((info) => info.loaded)
    const object: Unstructured =
      others.length === 0
        ? first!
        : typedObject({
            kind: "List",
            apiVersion: "v1",
            metadata: {},
            items: [first, ...others].map(sortKeys),
          })
    await (await this.#options.printer("")).print(object, this.#options.out)
  }
}
