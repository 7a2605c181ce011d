import { featuresToSchedule } from "../../../pkg/api/core/v1/node/declared-features.ts"
import { SKIP, SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/** Filters out nodes that do not declare what the pod needs of them. Source: plugins/nodedeclaredfeatures. */
export const nodeDeclaredFeatures: Plugin = {
  name: "NodeDeclaredFeatures",
  eventsToRegister: ["Node/Add", "Node/UpdateDeclaredFeatures"],
  signature: ({ spec }) => featuresToSchedule(spec),
  preFilter: (_state, { spec }) => (featuresToSchedule(spec).length === 0 ? SKIP : SUCCESS),
  filter: (_state, { spec }, { node }) =>
    featuresToSchedule(spec).every((feature) => node.status.declaredFeatures?.includes(feature) === true)
      ? SUCCESS
      : unresolvable("node(s) didn't match Pod's required features"),
}
