import { SUCCESS, unresolvable, type Plugin } from "../framework.ts"

/** Filters out every node except the one in spec.nodeName. Source: plugins/nodename. */
export const nodeName: Plugin = {
  name: "NodeName",
  eventsToRegister: ["Node/Add"],
  signature: ({ spec }) => spec.nodeName,
  filter: (_state, pod, { name }) =>
    pod.spec.nodeName && pod.spec.nodeName !== name
      ? unresolvable("node(s) didn't match the requested node name")
      : SUCCESS,
}
