import { canonicalQuantity, QUANTITY_FORM } from "../../../apimachinery/scalars/quantity.ts"
import { stringFlag } from "../../command/flag.ts"
import { filled, generator, metadataOf } from "./generator.ts"
import { sortedRecord } from "./sorted-record.ts"

/** Source: kubectl pkg/cmd/create/create_quota.go. */
export const createQuotaCommand = generator({
  use: "quota NAME [--hard=key1=value1,key2=value2] [--scopes=Scope1,Scope2] [--dry-run=server|client|none]",
  aliases: ["resourcequota"],
  short: "Create a quota with the specified name",
  long: "Create a resource quota with the specified name, hard limits, and, if you like, scopes.",
  example: `
# Create a quota called my-quota
kubectl create quota my-quota --hard=cpu=1,memory=1G,pods=2,services=3,secrets=5,persistentvolumeclaims=10

# Create a quota called best-effort, for pods without requests and limits
kubectl create quota best-effort --hard=pods=100 --scopes=BestEffort`,
  flags: {
    hard: stringFlag("", "Pairs resource=quantity between commas, which are the hard limits."),
    scopes: stringFlag("", "Scopes between commas, all of which an object must match to be counted."),
  },
  apiVersion: "v1",
  kind: "ResourceQuota",
  resource: "resourcequotas",
  failure: "failed to create quota:",
  make: ({ name, namespace, flags }) => ({
    metadata: metadataOf({ name, namespace }),
    spec: { ...filled("hard", hardLimits(flags.hard)), ...filled("scopes", scopesOf(flags.scopes)) },
    status: {},
  }),
})

function hardLimits(text: string): Readonly<Record<string, string>> {
  if (text === "") return {}
  const limits = new Map<string, string>()
  for (const statement of text.split(",")) {
    const parts = statement.split("=")
    if (parts.length !== 2) throw new Error(`Invalid argument syntax ${statement}, expected <resource>=<value>`)
    const quantity = canonicalQuantity(parts[1]!)
    if (quantity === undefined) throw new Error(QUANTITY_FORM)
    limits.set(parts[0]!, quantity)
  }
  return sortedRecord(limits)
}

function scopesOf(text: string): readonly string[] {
  const scopes = text === "" ? [] : text.split(",")
  if (scopes.includes("")) throw new Error('invalid resource quota scope ""')
  return scopes
}
