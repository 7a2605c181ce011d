import { command } from "../../command/command.ts"
import { durationFlag, stringSliceFlag } from "../../command/flag.ts"
import { attachablePod } from "../../polymorphic/attachable-pod.ts"
import type { Pod } from "../../polymorphic/pod.ts"
import { podHelper } from "../../polymorphic/pods-of.ts"
import { parseAddresses } from "./addresses.ts"
import { forward } from "./forwarding.ts"
import { parsePorts, podPorts, servicePorts, type ForwardedService } from "./ports.ts"
import { CLIENT_GO_SCHEME } from "../../resource/scheme-names.ts"

const TIMEOUT_MS = 60_000

/** Source: kubectl pkg/cmd/portforward/portforward.go. */
export const portForwardCommand = command({
  use: "port-forward TYPE/NAME [options] [LOCAL_PORT:]REMOTE_PORT [...[LOCAL_PORT_N:]REMOTE_PORT_N]",
  noFlagsInUse: true,
  short: "Forward one or more local ports to a pod",
  long: `
Forward one or more local ports to a pod.

 TYPE/NAME, such as deployment/mydeployment, chooses a pod; without a type it is a pod.

 Of several pods one is chosen. The session ends when that pod ends, and the command must be run again.`,
  example: `
# Listen on the local ports 5000 and 6000, and forward to the ports 5000 and 6000 of the pod
kubectl port-forward pod/mypod 5000 6000

# Forward to the ports 5000 and 6000 of a pod of the deployment
kubectl port-forward deployment/mydeployment 5000 6000

# Listen on port 8443, and forward to the target port of the service's port "https", in a pod of the service
kubectl port-forward service/myservice 8443:https

# Listen on port 8888, and forward to port 5000 of the pod
kubectl port-forward pod/mypod 8888:5000

# Listen on port 8888 of all addresses, and forward to port 5000 of the pod
kubectl port-forward --address 0.0.0.0 pod/mypod 8888:5000

# Listen on port 8888 of localhost and of another address, and forward to port 5000 of the pod
kubectl port-forward --address localhost,10.19.21.23 pod/mypod 8888:5000

# Listen on a free port, and forward to port 5000 of the pod
kubectl port-forward pod/mypod :5000`,
  flags: {
    "pod-running-timeout": durationFlag(
      TIMEOUT_MS,
      "How long (like 5s, 2m, or 3h, more than zero) to wait until a pod runs",
    ),
    address: stringSliceFlag(
      ["localhost"],
      "Addresses to listen on (comma separated): IP addresses or localhost, which is both 127.0.0.1 and ::1, of which one is enough.",
    ),
  },
  async run({ flags, args, factory, environment, out, errOut, usageError }) {
    const [name, ...texts] = args
    if (name === undefined || texts.length === 0)
      throw usageError("TYPE/NAME and list of ports are required for port-forward")
    const timeoutMs = flags["pod-running-timeout"]
    if (timeoutMs <= 0) throw usageError("--pod-running-timeout must be higher than zero")
    const { namespace } = await factory.namespace()
    const result = await factory.build({
      names: [name],
      scheme: CLIENT_GO_SCHEME,
      defaultType: "pods",
      namespace,
      defaultNamespace: true,
      continueOnError: true,
    })
    const object = await result.object()
    const pod = await attachablePod(factory, object, timeoutMs)
    const ports =
      object.kind === "Service" ? servicePorts(texts, object as ForwardedService, pod) : podPorts(texts, pod)
    const helper = await podHelper(factory)
    const podName = pod.metadata?.name ?? ""
    const { status }: Pod = await helper.get(namespace, podName)
    if (status?.phase !== "Running")
      throw new Error(`unable to forward port because pod is not running. Current status=${status?.phase ?? ""}`)
    const addresses = parseAddresses(flags.address)
    const { listen } = environment
    if (listen === undefined) throw new Error("no ports can be opened here")
    await forward({
      factory,
      listen,
      out,
      errOut,
      path: helper.path(namespace, podName, "portforward"),
      addresses,
      ports: parsePorts(ports),
    })
  },
})
