return sight
