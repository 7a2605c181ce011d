import { errorMessage } from "../../../errors/error-message.ts"
import { command } from "../../command/command.ts"
import { durationFlag, stringArrayFlag, stringFlag, type FlagValues } from "../../command/flag.ts"
import { printerOf, printFlags } from "../../printers/print-flags.ts"
import { typedObject } from "../../printers/printer.ts"
import { goJson, type Unstructured } from "../../rest/json.ts"
import { checkName, pathSegment } from "../../rest/rest-client.ts"
import { nameOfArguments } from "./generator.ts"

const KINDS = ["Node", "Pod", "Secret"]

const flags = {
  ...printFlags(),
  audience: stringArrayFlag(
    [],
    "Whom the token is for. Without it, the API server of the cluster. May be repeated for a token that several accept.",
  ),
  duration: durationFlag(
    0,
    "How long the token shall be valid. Without it, or with 0, the server decides; it may also give a longer or shorter time.",
  ),
  "bound-object-kind": stringFlag(
    "",
    `The kind of an object that the token is bound to: ${KINDS.join(", ")}. Needs --bound-object-name.`,
  ),
  "bound-object-name": stringFlag(
    "",
    "The name of an object that the token is bound to: with the object, the token ends. Needs --bound-object-kind.",
  ),
  "bound-object-uid": stringFlag(
    "",
    "The UID of the object that the token is bound to. Needs --bound-object-kind and --bound-object-name. Without it, the UID of the object that is there.",
  ),
}

/** Source: kubectl pkg/cmd/create/create_token.go. */
export const createTokenCommand = command({
  use: "token SERVICE_ACCOUNT_NAME",
  noFlagsInUse: true,
  short: "Request a service account token",
  long: "Request a token of a service account.",
  example: `
# Request a token with which to reach the API server as the service account "myapp"
kubectl create token myapp

# Request one of a service account of another namespace
kubectl create token myapp --namespace myns

# Request one for a time
kubectl create token myapp --duration 10m

# Request one for an audience
kubectl create token myapp --audience https://example.com

# Request one that ends with a secret
kubectl create token myapp --bound-object-kind Secret --bound-object-name mysecret`,
  flags,
  async run(invocation) {
    const { flags: values, factory, environment, out } = invocation
    const name = nameOfArguments(invocation)
    const { namespace } = await factory.namespace()
    const printer = await printerOf(values, "created", factory)
    checkFlags(name, namespace, values)
    checkName(name)
    const request = {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      spec: specOf(values),
      status: { token: "", expirationTimestamp: null },
    }
    const client = await factory.client()
    const path = `/api/v1/namespaces/${pathSegment(namespace)}/serviceaccounts/${pathSegment(name)}/token`
    const answer = (await client
      .object({ method: "POST", path, body: `${goJson(request, { sorted: false })}\n` })
      .catch((err: unknown) => {
        throw new Error(`failed to create token: ${errorMessage(err)}`, { cause: err })
      })) as Unstructured & { status?: { token?: string } }
    const token = answer.status?.token ?? ""
    if (token === "") throw new Error("failed to create token: no token in server response")
    if (values.output !== "") await printer.print(typedObject(inOrder(answer)), out)
    else await out.write(environment.stdout.isTerminal ? `${token}\n` : token)
  },
})

function checkFlags(name: string, namespace: string, values: FlagValues<typeof flags>): void {
  const { "bound-object-kind": kind, "bound-object-name": object, "bound-object-uid": uid } = values
  if (name === "") throw new Error("service account name is required")
  if (namespace === "") throw new Error("--namespace is required")
  if (values.duration < 0) throw new Error("--duration must be greater than or equal to 0")
  if (values.duration % 1000 !== 0) throw new Error("--duration cannot be expressed in units less than seconds")
  if (values.audience.includes("")) throw new Error("--audience must not be an empty string")
  if (kind === "") {
    if (object !== "") throw new Error("--bound-object-name can only be set if --bound-object-kind is provided")
    if (uid !== "") throw new Error("--bound-object-uid can only be set if --bound-object-kind is provided")
    return
  }
  if (!KINDS.includes(kind)) throw new Error(`supported --bound-object-kind values are ${KINDS.join(", ")}`)
  if (object === "") throw new Error("--bound-object-name is required if --bound-object-kind is provided")
}

function specOf(values: FlagValues<typeof flags>): object {
  const { audience, duration, "bound-object-kind": kind, "bound-object-name": name, "bound-object-uid": uid } = values
  return {
    audiences: audience.length === 0 ? null : audience,
    expirationSeconds: duration === 0 ? null : duration / 1000,
    boundObjectRef: kind === "" ? null : { kind, apiVersion: "v1", name, ...(uid === "" ? {} : { uid }) },
  }
}

/** Returns an answer with its fields in the order of Go's types. */
function inOrder({ kind, apiVersion, metadata, spec, status }: Unstructured): Unstructured {
  const { audiences, expirationSeconds, boundObjectRef } = (spec ?? {}) as Readonly<Record<string, unknown>>
  return {
    kind: kind!,
    apiVersion: apiVersion!,
    metadata: metadata!,
    spec: { audiences, expirationSeconds, boundObjectRef },
    status,
  }
}
