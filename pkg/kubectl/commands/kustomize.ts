import { goPathError } from "../environment/files.ts"
import type { Environment } from "../environment/environment.ts"
import { writeYaml } from "../../yaml/write.ts"
import { command } from "../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag } from "../command/flag.ts"
import { posix } from "node:path"

const ORDERS = ["legacy", "none"]
const RESTRICTORS = ["LoadRestrictionsRootOnly", "LoadRestrictionsNone"]

/** Source: sigs.k8s.io/kustomize/kustomize/v5 commands/build. */
export const kustomizeCommand = command({
  use: "kustomize DIR",
  short: "Build a kustomization from a folder or an address",
  long:
    "Build the objects of a kustomization, and print them. DIR is a folder with a 'kustomization.yaml', or the address " +
    "of a git repository with the folder's path in it. Without DIR it is the working folder.",
  example: `# Build the working folder
kubectl kustomize

# Build another folder
kubectl kustomize /home/config/production

# Build a folder of a repository
kubectl kustomize https://github.com/kubernetes-sigs/kustomize.git/examples/helloWorld?ref=v1.0.6`,
  flags: {
    output: stringFlag("", "Where the output is written: a file, or a folder that gets a file for each object.", {
      shorthand: "o",
    }),
    network: boolFlag(false, "Let functions that ask for it use the network."),
    "network-name": stringFlag("bridge", "The network of containers of functions."),
    mount: stringArrayFlag([], "Storage that functions may read."),
    env: stringArrayFlag([], "Environment variables of functions.", { shorthand: "e" }),
    "as-current-user": boolFlag(false, "Run functions with the user and group of this program."),
    "load-restrictor": stringFlag(
      RESTRICTORS[0]!,
      "If set to 'LoadRestrictionsNone', kustomizations may read files outside of their folders.",
    ),
    "enable-alpha-plugins": boolFlag(false, "Enable plugins of kustomize."),
    reorder: stringFlag("legacy", "The order of the output: 'legacy' sorts by kinds, 'none' does not.", {
      deprecated: "use the new 'sortOptions' field in kustomization.yaml instead.",
    }),
    "enable-managedby-label": boolFlag(false, "Add the label app.kubernetes.io/managed-by.", {
      deprecated:
        "The flag `enable-managedby-label` has been deprecated. Use the `managedByLabel` option in the `buildMetadata` field instead.",
    }),
    "enable-helm": boolFlag(false, "Enable charts of helm."),
    "helm-command": stringFlag("helm", "The helm program."),
    "helm-api-versions": stringArrayFlag([], "Versions of the API that charts see."),
    "helm-kube-version": stringFlag("", "The version of Kubernetes that charts see."),
    "helm-debug": boolFlag(false, "Let helm print what it does."),
  },
  async run({ flags, args, changed, environment, out }) {
    if (args.length > 1) throw new Error("specify one path to kustomization.yaml")
    if (!["", ...RESTRICTORS].includes(flags["load-restrictor"]))
      throw illegalValue("load-restrictor", flags["load-restrictor"], RESTRICTORS)
    if (!ORDERS.includes(flags.reorder)) throw illegalValue("reorder", flags.reorder, ORDERS)
    const { buildResources } = await import("../factory/kustomization.ts")
    const map = await buildResources(environment, args[0] ?? ".", {
      order: changed("reorder") ? (flags.reorder as "legacy" | "none") : "unspecified",
      allowsOutside: flags["load-restrictor"] === "LoadRestrictionsNone",
      labelsManager:
        flags["enable-managedby-label"] || environment.variables["KUSTOMIZE_ENABLE_MANAGEDBY_LABEL"] === "on",
      helm: {
        enabled: flags["enable-helm"] || flags["enable-alpha-plugins"],
        command: flags["helm-command"],
        apiVersions: flags["helm-api-versions"],
        kubeVersion: flags["helm-kube-version"],
        debug: flags["helm-debug"],
      },
    })
    if (flags.output === "") return out.write(map.toYaml())
    const path = posix.resolve(environment.cwd, flags.output)
    if ((await environment.files.stat(path))?.isDirectory !== true)
      return writeFile(environment, flags.output, map.toYaml())
    const groups = map.groupedByNamespace((resource) => resource.currentId)
    const write = (prefix: string, resource: (typeof map.resources)[number]) =>
      writeFile(environment, posix.join(flags.output, prefix + fileName(resource)), writeYaml(resource.toValue()))
    for (const [namespace, resources] of groups)
      for (const resource of resources) await write(groups.size > 1 ? `${namespace.toLowerCase()}_` : "", resource)
    for (const resource of map.clusterScoped) await write("", resource)
  },
})

const illegalValue = (flag: string, value: string, legal: readonly string[]): Error =>
  new Error(`illegal flag value --${flag} ${value}; legal values: [${legal.join(" ")}]`)

function fileName({ gvk, name }: { readonly gvk: { group: string; version: string; kind: string }; name: string }) {
  const { group, version, kind } = gvk
  const parts = [group, version, kind].filter((part) => part !== "")
  return `${parts.join("_").toLowerCase()}_${name.toLowerCase()}.yaml`
}

async function writeFile({ files, cwd }: Environment, path: string, text: string): Promise<void> {
  try {
    await files.write(posix.resolve(cwd, path), text)
  } catch (err) {
    throw goPathError("open", path, err)
  }
}
