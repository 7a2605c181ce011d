import { ownValue } from "../apimachinery/json/set-key.ts"
import { errorMessage } from "../errors/error-message.ts"
import { isGoMap } from "../go-fmt/go-number.ts"
import { judge } from "../json-schema/json-schema.ts"
import type { Chart } from "./chart.ts"
import { plainValues, type Dict } from "./functions/convert.ts"
import { textOfFile } from "./load-chart.ts"
import { coalesceValues } from "./values.ts"

/** The address that messages give to the schema of a chart. Source: helm.sh/helm/v3/pkg/chartutil/jsonschema.go. */
const URL = "file:///values.schema.json"

/**
 * Judges values by the schemas of a chart and of its dependencies, in `values.schema.json` of each. `chart` has the
 * dependencies that are enabled only. @throws Error in Helm's words
 */
export function checkValues(chart: Chart, values: Readonly<Record<string, unknown>>): void {
  const faults = faultsOf(chart, coalesceValues(chart, values))
  if (faults !== "")
    throw new Error(`values don't meet the specifications of the schema(s) in the following chart(s):\n${faults}`)
}

function faultsOf({ metadata: { name }, schema, dependencies }: Chart, values: Dict): string {
  let faults = ""
  if (schema !== undefined)
    try {
      const found = judge(textOfFile(schema), URL, plainValues(values))
      if (found !== undefined) faults += `${name}:\n${found}\n`
    } catch (err) {
      faults += `${name}:\n${errorMessage(err)}`
    }
  for (const one of dependencies) {
    const own = ownValue(values, one.metadata.name)
    if (isGoMap(own)) faults += faultsOf(one, own as Dict)
  }
  return faults
}
