"""Networks for images that ``tf.contrib.slim.nets`` has, with the names of their variables.

``residual`` has ResNets of both versions, ``inception`` versions 1 and 3, ``plain`` AlexNet and
VGG. Each returns its output and a dict of what its layers gave; checkpoints of TensorFlow's models
fit.
"""
