"""Compares what the lab's registry serves with the images built here."""

import json


def registry_state(answers, built):
    """answers: results of the manifest requests; built: image name -> inspected image.

    Returns the items still to publish, and the digest under which each published name is served.
    """
    unpublished, digests = [], {}
    for answer in answers:
        item = answer["item"]
        served = answer["status"] == 200 and json.loads(answer["content"])["config"]["digest"]
        if served == built[item["name"]]["Id"]:
            digests[item["publish"]] = answer["docker_content_digest"]
        else:
            unpublished.append(item)
    return {"unpublished": unpublished, "digests": digests}


class FilterModule:
    def filters(self):
        return {"registry_state": registry_state}
