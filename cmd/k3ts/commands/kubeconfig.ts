import { realClock } from "../../../pkg/clock/real.ts"
import { buildKubeconfig, kubeconfigYaml } from "../../../pkg/pki/kubeconfig.ts"
import { defineCommand } from "../cli/command.ts"
import { boolean, list, value } from "../cli/flags.ts"
import { notEmpty, textThat } from "../cli/flag-type.ts"
import { UsageError } from "../cli/usage-error.ts"
import { mergeIntoFile, usersKubeconfig } from "../kubeconfig-merge.ts"
import { localServer, openPki } from "../credentials.ts"
import { bindAddressFlag, configFlag, dataDirFlag, portFlag } from "../config/server-flags.ts"

const url = textThat(
  (text) => URL.canParse(text) && new URL(text).protocol === "https:",
  "must be a URL, as in https://k3ts.example.org:6443",
)

export default defineCommand({
  summary: "Print a kubeconfig: the administrator's, or with --user one for somebody else",
  details:
    "A kubeconfig made with --user holds a new certificate, valid for a year. What that user may do is a " +
    "matter of RBAC. With --merge nothing is printed: the kubeconfig is added to the first file of $KUBECONFIG, or to " +
    "~/.kube/config, under the name of --context; entries of that name are replaced.",
  flags: {
    config: configFlag(),
    "data-dir": dataDirFlag(),
    "bind-address": bindAddressFlag(),
    "https-listen-port": portFlag(),
    user: value(notEmpty.optional(), "Name of the user", { placeholder: "NAME" }),
    group: list(notEmpty, "Group of that user", { placeholder: "GROUP" }),
    server: value(url.optional(), "URL under which the server is reached", {
      placeholder: "URL",
      defaultText: "this machine's",
    }),
    merge: boolean("Add it to the file that kubectl uses, instead of printing it"),
    context: value(notEmpty.optional(), "Name of the context, the cluster and the user in it", {
      placeholder: "NAME",
      defaultText: "default; k3ts with --merge",
    }),
  },
  async run({ flags, print }) {
    const { user, group, "data-dir": dataDir } = flags
    if (user === undefined && group.length > 0) throw new UsageError("--group goes with --user")
    const pki = openPki(dataDir, () => realClock.now())
    const subject =
      user === undefined
        ? { commonName: "system:admin", organizations: ["system:masters"] }
        : { commonName: user, organizations: group }
    const pair =
      user === undefined
        ? pki.leaf({ name: "client-admin", authority: "client-ca", subject })
        : pki.issue({ name: "client", authority: "client-ca", subject })
    const options = {
      server: flags.server ?? localServer(flags),
      caPem: pki.authorities["server-ca"].certPem,
      user: pair,
      name: flags.context ?? (flags.merge ? "k3ts" : "default"),
    }
    if (!flags.merge) {
      print(kubeconfigYaml(options))
      return Promise.resolve(0)
    }
    const path = usersKubeconfig(process.env)
    mergeIntoFile(path, buildKubeconfig(options))
    print(`Added the context ${options.name} to ${path}; use it with: kubectl config use-context ${options.name}\n`)
    return Promise.resolve(0)
  },
})
