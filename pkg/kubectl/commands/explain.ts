import { command, type Invocation } from "../command/command.ts"
import { boolFlag, stringFlag } from "../command/flag.ts"
import { quoted } from "../../go-fmt/quote.ts"
import { parsePlainRequest, parseResourceRequest, type ResourceRequest } from "../explain/resource-request.ts"
import { parseGroupVersion } from "../rest/json.ts"
import { gvkText, gvrText, type GroupVersionKind, type RestMapper } from "../rest/rest-mapper.ts"

const PLAINTEXT = "plaintext"
const PLAINTEXT_V2 = "plaintext-openapiv2"

const explainFlags = {
  recursive: boolFlag(false, "Print the fields of fields too, each on one line.", { shorthand: "R" }),
  "api-version": stringFlag("", "The version of the API to explain, as group/version."),
  output: stringFlag(PLAINTEXT, `The format of the description (${PLAINTEXT}, ${PLAINTEXT_V2}).`, { shorthand: "o" }),
}

type ExplainInvocation = Invocation<typeof explainFlags>

/** Source: kubectl pkg/cmd/explain/explain.go. */
export const explainCommand = command({
  use: `explain TYPE [--recursive=FALSE|TRUE] [--api-version=api-version-group] [-o|--output=${PLAINTEXT}|${PLAINTEXT_V2}]`,
  noFlagsInUse: true,
  short: "Get documentation for a resource",
  long: `
Describe the fields of a resource, and what each of them means.

 Fields are named by a simple JSONPath:

  <type>.<fieldName>[.<fieldName>]

 The description is that of the server's OpenAPI documents.

Use "kubectl api-resources" for a complete list of supported resources.`,
  example: `
# Describe pods and their fields
kubectl explain pods

# List all fields of pods
kubectl explain pods --recursive

# Describe deployments of one version of the API
kubectl explain deployments --api-version=apps/v1

# Describe one field
kubectl explain pods.spec.containers

# Describe deployments in another format
kubectl explain deployment --output=plaintext-openapiv2`,
  flags: explainFlags,
  run,
})

async function run(invocation: ExplainInvocation): Promise<void> {
  const { flags, args, factory } = invocation
  const [text, ...others] = args
  if (text === undefined)
    throw new Error(
      'You must specify the type of resource to explain. Use "kubectl api-resources" for a complete list of supported resources.\n',
    )
  if (others.length > 0) throw new Error("We accept only this format: explain RESOURCE\n")
  const mapper = await factory.restMapper()
  const apiVersion = flags["api-version"]
  const request = await (apiVersion === "" ? parseResourceRequest : parsePlainRequest)(text, mapper)
  if (flags.output === PLAINTEXT_V2) return explainV2(invocation, request, mapper)
  const openApi = await factory.openApi()
  try {
    await openApi.paths()
  } catch (err) {
    // A server without OpenAPI v3 is asked for the older document.
    if (flags.output === PLAINTEXT) return explainV2(invocation, request, mapper)
    throw new Error(`failed to fetch list of groupVersions: ${(err as Error).message}`, { cause: err })
  }
  return explainV3(invocation, request)
}

async function explainV3({ flags, factory, out }: ExplainInvocation, request: ResourceRequest): Promise<void> {
  const apiVersion = flags["api-version"]
  const resource = apiVersion === "" ? request.resource : { ...request.resource, ...checkedVersion(apiVersion) }
  const [openApi, { Explanation }, { GroupVersionNotFound }] = await Promise.all([
    factory.openApi(),
    import("../explain/explain-v3.ts"),
    import("../rest/openapi.ts"),
  ])
  const document = await openApi.document(resource).catch((err: unknown) => {
    throw err instanceof GroupVersionNotFound ? new Error(`couldn't find resource for "${gvrText(resource)}"`) : err
  })
  if (flags.output !== PLAINTEXT) throw new Error(`unrecognized format: ${flags.output}`)
  const explanation = new Explanation(document, flags.recursive)
  const kind = explanation.kindOf(resource)
  // The head stands there even when the field does not exist.
  await out.write(explanation.head(kind))
  await out.write(explanation.body(kind, request.fields))
}

async function explainV2(
  { flags, factory, out }: ExplainInvocation,
  { resource, fields }: ResourceRequest,
  mapper: RestMapper,
): Promise<void> {
  const found = await mapper.kindFor(resource).catch(() => mapper.kindFor({ ...resource, version: "" }))
  const apiVersion = flags["api-version"]
  const kind: GroupVersionKind = apiVersion === "" ? found : { ...found, ...checkedVersion(apiVersion) }
  const [document, { SwaggerExplanation }] = await Promise.all([
    factory.openApi().then((openApi) => openApi.swagger()),
    import("../explain/explain-v2.ts"),
  ])
  const explanation = new SwaggerExplanation(document, flags.recursive)
  const definition = explanation.definitionOf(kind)
  if (definition === undefined) throw new Error(`couldn't find resource for ${quoted(gvkText(kind))}`)
  await out.write(explanation.text(definition, fields, kind))
}

/** @throws Error for a text with more than one slash */
function checkedVersion(text: string): { readonly group: string; readonly version: string } {
  if (text.split("/").length > 2) throw new Error(`unexpected GroupVersion string: ${text}`)
  return parseGroupVersion(text)
}
