import { goQuoted } from "../../apimachinery/go/go-text.ts"
import { deepEqual } from "../../apimachinery/json/equal.ts"
import { applyJsonPatch } from "../../apimachinery/patch/json.ts"
import { applyMergePatch } from "../../apimachinery/patch/merge.ts"
import { parseYaml } from "../../yaml/yaml.ts"
import { command, type Invocation } from "../command/command.ts"
import { boolFlag, stringFlag } from "../command/flag.ts"
import {
  dryRunFlag,
  dryRunOf,
  fieldManagerFlag,
  filenameFlags,
  filenameOptions,
  subresourceFlag,
  type DryRun,
} from "../command/shared-flags.ts"
import { isUnsupportedMediaType } from "../errors/status-error.ts"
import { printerOf, printFlags } from "../printers/print-flags.ts"
import type { PatchType } from "../resource/helper.ts"
import type { Info } from "../resource/info.ts"
import { goJson, parseGroupVersion, parseJson, type Unstructured } from "../rest/json.ts"
import { gvkText } from "../rest/rest-mapper.ts"
import { mergeDiff } from "../patch/merge-patch.ts"
import { recorded, recordFlag } from "./record.ts"

const TYPES: Readonly<Record<string, PatchType>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
}
const TYPE_NAMES = `[${Object.keys(TYPES).sort().join(" ")}]`

const flags = {
  ...recordFlag(),
  ...printFlags(),
  patch: stringFlag("", "The patch, as JSON or YAML.", { shorthand: "p" }),
  "patch-file": stringFlag("", "A file with the patch."),
  type: stringFlag("strategic", `The type of the patch; one of ${TYPE_NAMES}`),
  ...dryRunFlag(),
  ...filenameFlags("with the resources to patch"),
  local: boolFlag(false, "If true, patch the contents of the file, and not the resource of the server."),
  ...fieldManagerFlag("kubectl-patch"),
  ...subresourceFlag("The subresource to patch."),
}

type PatchInvocation = Invocation<typeof flags>

/** Source: kubectl pkg/cmd/patch/patch.go. */
export const patchCommand = command({
  use: "patch (-f FILENAME | TYPE NAME) [-p PATCH|--patch-file FILE]",
  noFlagsInUse: true,
  short: "Update fields of a resource",
  long: `
Update fields of a resource by a strategic merge patch, a JSON merge patch, or a JSON patch.

 JSON and YAML are accepted.

 Note: custom resources take no strategic merge patch.`,
  example: `
# Change a node by a strategic merge patch in JSON
kubectl patch node k8s-node-1 -p '{"spec":{"unschedulable":true}}'

# Change a node by a strategic merge patch in YAML
kubectl patch node k8s-node-1 -p $'spec:\\n unschedulable: true'

# Change the node that "node.json" names by a strategic merge patch
kubectl patch -f node.json -p '{"spec":{"unschedulable":true}}'

# Change the image of a container; spec.containers[*].name is needed, because lists are merged by it
kubectl patch pod valid-pod -p '{"spec":{"containers":[{"name":"kubernetes-serve-hostname","image":"new image"}]}}'

# Change the image of a container by a JSON patch, which counts containers
kubectl patch pod valid-pod --type='json' -p='[{"op": "replace", "path": "/spec/containers/0/image", "value":"new image"}]'

# Change the number of replicas through the subresource 'scale' by a merge patch
kubectl patch deployment nginx-deployment --subresource='scale' --type='merge' -p '{"spec":{"replicas":2}}'`,
  flags,
  async run(invocation) {
    const { flags: values, args, factory, out } = invocation
    const dryRun = dryRunOf(values["dry-run"], factory.log)
    check(invocation, dryRun)
    const type = TYPES[(values.type === "" ? "strategic" : values.type).toLowerCase()]!
    const patch = await patchOf(invocation)
    const { namespace, explicit } = await factory.namespace()
    const result = await factory.build({
      args,
      files: filenameOptions(values),
      namespace,
      defaultNamespace: true,
      enforceNamespace: explicit,
      subresource: values.subresource,
      local: values.local,
      requireObject: !values.local,
      continueOnError: true,
      flatten: true,
    })
    let count = 0
    await result.visit(async (info) => {
      count++
      const isLocal = values.local || dryRun === "client"
      const before = info.loaded
      const after = isLocal ? await locally(before, type, patch) : await sent(info, type, patch, dryRun, invocation)
      const operation = deepEqual(before, after) ? "patched (no change)" : "patched"
      const printer = await printerOf(values, operation, factory)
      await printer.print(after, out)
    })
    if (count === 0) throw new Error("no objects passed to patch")
  },
})

function check({ flags: values, args }: PatchInvocation, dryRun: DryRun): void {
  if (values.patch !== "" && values["patch-file"] !== "")
    throw new Error("cannot specify --patch and --patch-file together")
  if (values.patch === "" && values["patch-file"] === "")
    throw new Error("must specify --patch or --patch-file containing the contents of the patch")
  if (values.local && args.length > 0) throw new Error("cannot specify --local and server resources")
  if (values.local && dryRun === "server")
    throw new Error("cannot specify --local and --dry-run=server - did you mean --dry-run=client?")
  if (values.type !== "" && !Object.hasOwn(TYPES, values.type.toLowerCase()))
    throw new Error(`--type must be one of ${TYPE_NAMES}, not ${goQuoted(values.type)}`)
}

/** Returns the patch as JSON. What looks like JSON already is sent as it is, and the server says what is wrong. */
async function patchOf({ flags: values, factory }: PatchInvocation): Promise<string> {
  let text = values.patch
  if (values["patch-file"] !== "")
    try {
      text = new TextDecoder().decode(await factory.readFile(values["patch-file"]))
    } catch (err) {
      throw new Error(`unable to read patch file: ${(err as Error).message}`, { cause: err })
    }
  if (text.trimStart().startsWith("{")) return text
  try {
    return goJson(parseYaml(text).value)
  } catch (err) {
    throw new Error(`unable to parse ${goQuoted(values.patch)}: ${(err as Error).message}`, { cause: err })
  }
}

async function sent(
  info: Info,
  type: PatchType,
  patch: string,
  dryRun: DryRun,
  invocation: PatchInvocation,
): Promise<Unstructured> {
  const { "field-manager": fieldManager, subresource } = invocation.flags
  const options = { fieldManager, subresource, serverDryRun: dryRun === "server" }
  let object
  try {
    object = await info.helper.patch(info.namespace, info.name, type, patch, options)
  } catch (err) {
    if (!isUnsupportedMediaType(err)) throw err
    throw new Error(`${type} is not supported by ${gvkText(info.mapping.kind)}: ${err.message}`, { cause: err })
  }
  const noted = recorded(object, invocation)
  if (noted === object) return object
  const cause = goJson(mergeDiff(object, noted))
  return info.helper.patch(info.namespace, info.name, "application/merge-patch+json", cause, options)
}

/** Returns what comes of the patch, without the server. */
async function locally(object: Unstructured, type: PatchType, text: string): Promise<Unstructured> {
  const patch = parseJson(text)
  if (type === "application/json-patch+json") return applyJsonPatch(object, patch) as Unstructured
  if (type === "application/merge-patch+json") return applyMergePatch(object, patch) as Unstructured
  const { builtinResource } = await import("../patch/builtin-meta.ts")
  const { applyStrategicMergePatch } = await import("../../apimachinery/patch/strategic.ts")
  const kind = { ...parseGroupVersion(object.apiVersion ?? ""), kind: object.kind ?? "" }
  const resource = await builtinResource(kind)
  if (resource === undefined)
    throw new Error(`strategic merge patch is not supported for ${gvkText(kind)} locally, try --type merge`)
  return applyStrategicMergePatch(resource.schema, object, patch) as Unstructured
}
