import { command } from "../command/command.ts"
import { boolFlag, stringArrayFlag, stringFlag } from "../command/flag.ts"
import { goPathError } from "../environment/files.ts"

/** Source: kustomize kustomize/commands/build. */
export const kustomizeCommand = command({
  use: "kustomize DIR",
  short: "Build a kustomization from a folder or an address",
  long: "Build the objects of a kustomization. DIR is the path of a folder with a 'kustomization.yaml', or the address of a git repository with the path of such a folder behind it. Without DIR it is '.'.",
  example: `
# Build the folder that you are in
kubectl kustomize

# Build a folder that several share
kubectl kustomize /home/config/production

# Build a folder of a repository
kubectl kustomize https://github.com/kubernetes-sigs/kustomize.git/examples/helloWorld?ref=v1.0.6`,
  flags: {
    "as-current-user": boolFlag(false, "run functions in containers as the user who runs this command"),
    "enable-alpha-plugins": boolFlag(false, "run plugins of kustomize"),
    "enable-helm": boolFlag(false, "Run the generator of Helm charts."),
    env: stringArrayFlag([], "variables for functions", { shorthand: "e" }),
    "helm-api-versions": stringArrayFlag([], "Versions of the API that Helm has as Capabilities.APIVersions"),
    "helm-command": stringFlag("helm", "the path of the program helm"),
    "helm-debug": boolFlag(false, "Print what the generator of Helm charts does."),
    "helm-kube-version": stringFlag("", "The version of Kubernetes that Helm has as Capabilities.KubeVersion"),
    "load-restrictor": stringFlag(
      "LoadRestrictionsRootOnly",
      "with 'LoadRestrictionsNone', kustomizations may read files outside of their folder. They can then not be moved.",
    ),
    mount: stringArrayFlag([], "folders that functions may read"),
    network: boolFlag(false, "let functions that ask for it use the network"),
    "network-name": stringFlag("bridge", "the network of containers that functions run in"),
    output: stringFlag("", "The file, or the folder of files, to write to.", { shorthand: "o" }),
  },
  async run({ flags, args, environment, out, errOut }) {
    if (args.length > 1) throw new Error("specify one path to kustomization.yaml")
    const restrictor = flags["load-restrictor"]
    if (restrictor !== "LoadRestrictionsRootOnly" && restrictor !== "LoadRestrictionsNone")
      throw new Error(
        `illegal flag value --load-restrictor ${restrictor}; legal values: [LoadRestrictionsRootOnly LoadRestrictionsNone]`,
      )
    const { buildKustomization } = await import("../factory/kustomization.ts")
    const warnings: string[] = []
    let text: string
    try {
      text = await buildKustomization(environment, args[0] ?? ".", {
        order: "unspecified",
        allowsOutside: restrictor === "LoadRestrictionsNone",
        helm: {
          enabled: flags["enable-helm"],
          command: flags["helm-command"],
          apiVersions: flags["helm-api-versions"],
          kubeVersion: flags["helm-kube-version"],
          debug: flags["helm-debug"],
        },
        warn: (message) => void warnings.push(`${message}\n`),
        log: (message) => void warnings.push(`${message}\n`),
      })
    } finally {
      for (const warning of warnings) await errOut.write(warning)
    }
    const { output } = flags
    if (output === "") return out.write(text)
    const { files } = environment
    const isFolder = (await files.stat(output))?.isDirectory === true
    try {
      if (!isFolder) return await files.write(output, text)
    } catch (err) {
      throw goPathError("open", output, err)
    }
    const { writeObjects } = await import("../factory/write-objects.ts")
    await writeObjects(files, output, text)
  },
})
